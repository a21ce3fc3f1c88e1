"""vaultmem demo: the story of one memory on a scratch copy of the sample vault, with real commands and real times."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from vaultmem import machine
from vaultmem.client import is_terminal
from vaultmem.errors import StateError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural, value

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from types import SimpleNamespace as Namespace


PATIENCE = 60.0  # seconds that a step may take on a busy machine
UNHURRIED = 13.0  # seconds from the start; later steps have no pauses
MOST_LINES = 4  # lines of an answer
FACT = "Femi is allergic to hazelnuts"
MISTAKE = "Femi is not allergic to hazelnuts"
QUESTION = "which cake can I bake for Femi?"
NOTE = f"vaultmem/people/{FACT}.md"


@value
class Step:
    """One command of the story."""

    title: str  # what it shows; empty if it belongs to the previous step
    words: list[str]  # what is typed
    mark: str  # a pattern that the answer must match for the story to be true
    most: int = MOST_LINES  # lines of the answer to show
    follows: bool = False  # true a moment after the previous step: retried until then


STORY = [
    Step("Your notes stay files. A background process keeps an index of them.",
         ["vaultmem", "start"], "agent started"),
    Step("Claude is told something, and writes it down.",
         ["vaultmem", "write", "--by", "claude", "--category", "people", FACT], "written"),
    Step("The next moment, Codex knows it.",
         ["vaultmem", "recall", "--by", "codex", "-k", "1", QUESTION], FACT, 3),
    Step("What they remember is a note in your vault: edit it, link it, delete it.",
         ["cat", NOTE], FACT, 16),
    Step("Ask to be reminded …",
         ["vaultmem", "remind", "call Marek about the roof tomorrow at 9am"], "reminds on .*09:00"),
    Step("… and tick it in any editor: pending.md has it, with all that is due.",
         ["grep", "Marek", "vaultmem/pending.md"], "- \\[ \\] \\[\\[call Marek", follows=True),
    Step("An assistant gets something wrong …",
         ["vaultmem", "write", "--by", "codex", "--category", "people", MISTAKE], "replaces"),
    Step("… and you take it back, to the byte.", ["vaultmem", "undo", "--last"], "undone"),
    Step("", ["vaultmem", "recall", "--by", "codex", "-k", "1", QUESTION], FACT, 3),
    Step("Old notes answer by meaning: this one has no word of the question.",
         ["vaultmem", "search", "--semantic", "--limit", "1", "moisture coming through upstairs"],
         "House/Damp quotes.md", follows=True),
]  # fmt: skip


class Stage:
    """The scratch folder, and the commands run in it, without the person's state and settings."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.vault = os.path.join(folder, "sample-vault")
        self.settings = {
            "VAULTMEM_STATE": os.path.join(folder, "state"),
            "VAULTMEM_NOTIFY_METHOD": "none",  # due items of the sample must not notify your desktop
            "XDG_CONFIG_HOME": os.path.join(folder, "config"),
            "TMPDIR": os.path.join(folder, "tmp"),  # files left by libraries are removed as well
            "NO_COLOR": "1",
        }

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command as a person would, inside the vault."""
        if words[0] == "vaultmem":
            words = [sys.executable, "-P", "-m", *words]
        own = {name: text for name, text in os.environ.items() if not name.startswith("VAULTMEM_")}
        return subprocess.run(
            words, env={**own, **self.settings}, cwd=self.vault, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=120, check=False, encoding="utf-8", errors="replace",
        )  # fmt: skip


class Show:
    """The output of the story: on a terminal typed and paced for a reader, elsewhere without pauses."""

    def __init__(self, output: Output, *, paced: bool) -> None:
        self.output = output
        self.until = time.monotonic() + UNHURRIED if paced else 0.0

    def pause(self, seconds: float) -> None:
        """Leave time to read."""
        if time.monotonic() < self.until:
            self.output.flush()
            time.sleep(seconds)

    def command(self, title: str, typed: str) -> None:
        """Show what is typed next."""
        if self.output.as_json:
            return
        self.output.line()
        if title:
            self.output.line(self.output.paint(f"# {title}", "cyan"))
            self.pause(0.4)
        self.output.prompt(self.output.paint("$ ", "dim"))
        for letter in typed:
            self.output.prompt(self.output.paint(letter, "bold"))
            self.pause(0.006)
        self.output.line()

    def answer(self, lines: list[str], step: Step, seconds: float) -> None:
        """Show the answer, or its visible part."""
        for line in lines[: step.most]:
            self.output.line(self._mark(line, step.mark))
        more = plural(len(lines) - step.most, "more line")
        rest = f"… {more}, " if len(lines) > step.most else ""
        if step.words[0] == "vaultmem":
            self.output.line(self.output.paint(f"({rest}{seconds:.2f} s)", "dim"))
        self.pause(0.5 + 0.05 * min(len(lines), step.most))

    def _mark(self, line: str, mark: str) -> str:
        result = re.search(mark, line)
        if not result:
            return line
        begin, end = result.span()
        return line[:begin] + self.output.paint(result[0], "green") + line[end:]


def run(args: Namespace, output: Output) -> int:
    """Tell the story, then clean up, whatever happens."""
    began = time.monotonic()
    paced = is_terminal(sys.stdout) and not (args.fast or output.as_json)
    show = Show(output, paced=paced)
    with _signals(signal.default_int_handler):  # clean up first, as after Ctrl-C
        folder = os.path.realpath(tempfile.mkdtemp(prefix="vaultmem-demo-"))
        stage = Stage(folder)
        try:
            shutil.copytree(sample_vault(), stage.vault)
            os.mkdir(stage.settings["TMPDIR"])
            try:
                steps = [_run_step(stage, step, show) for step in STORY]
            finally:
                _end_agent(stage)
        finally:
            _clean_up(folder, args.keep, output)
    seconds = time.monotonic() - began
    output.answer({"steps": steps, "seconds": round(seconds, 2)})
    rest = "" if args.keep else "; everything is removed again"
    output.line()
    output.flush()
    output.note(f"{len(steps)} steps in {seconds:.1f} s{rest}")
    output.note("now your own notes: vaultmem setup")
    return 0


def sample_vault() -> str:
    """The sample vault: inside the installed package, or beside it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for place in (f"{package}/sample_vault", f"{os.path.dirname(package)}/sample-vault"):
        if os.path.isdir(place):
            return place
    raise StateError("the sample vault is missing; install vaultmem again: pip install .")


def _run_step(stage: Stage, step: Step, show: Show) -> dict[str, str | float]:
    typed = shlex.join(step.words)
    show.command(step.title, typed)
    give_up = time.monotonic() + (PATIENCE if step.follows else 0)
    while True:
        began = time.monotonic()
        ended = stage.run(step.words)
        seconds = time.monotonic() - began
        remarks = ended.stderr.splitlines()
        lines = ended.stdout.splitlines()
        lines += [remark for remark in remarks if re.search(step.mark, remark)]
        if any(re.search(step.mark, line) for line in lines):
            break
        if time.monotonic() > give_up:
            first = [*lines, *remarks, f"nothing, and exit code {ended.returncode}"][0]
            raise VaultmemError(f"{typed} did not show {step.mark!r}, but: {first}")
        time.sleep(min(0.5, max(0.05, seconds)))  # what we wait for needs the processor, too
    show.answer(lines, step, seconds)
    out = "\n".join(lines)
    return {"title": step.title, "command": typed, "seconds": round(seconds, 3), "out": out}


# --- around it


@contextlib.contextmanager
def _signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    """Run the block with this handler for termination signals."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    former = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, before)


def _end_agent(stage: Stage) -> None:
    """End the agent, by force if need be."""
    with _signals(signal.SIG_IGN):  # a second Ctrl-C must not leave half of it behind
        stage.run(["vaultmem", "stop"])
        # One that hangs, and the start of one that an interruption came upon.
        machine.kill_with_variable("VAULTMEM_STATE", stage.settings["VAULTMEM_STATE"], 5.0)


def _clean_up(folder: str, keep: bool, output: Output) -> None:
    if keep:
        output.remark(f"kept in {folder}; its index: VAULTMEM_STATE={folder}/state")
        return
    with _signals(signal.SIG_IGN):  # a second Ctrl-C must not leave half of it behind
        shutil.rmtree(folder, ignore_errors=True)
