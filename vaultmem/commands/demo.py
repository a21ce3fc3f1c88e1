"""vaultmem demo: the whole story on a scratch copy of the sample vault, with real commands and real times."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from vaultmem import client, paths
from vaultmem.agent import life
from vaultmem.agent.life import named_with, send, wait_until_free
from vaultmem.errors import StateError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural, value

if TYPE_CHECKING:
    import argparse
    from types import FrameType


PATIENCE = 20.0  # seconds for a saved note to be found
MOST_LINES = 6  # lines of an answer
NOTE = "Inbox/Kettle for the gauge hut.md"
TEXT = """\
# Kettle for the gauge hut

The old one trips the breaker. A sprockleford lid, a short lead, and no whistle at five in the morning.

- [ ] Order the kettle 📅 {today}
"""


@value
class Step:
    """One command of the story: what it is to show, what is typed, how many lines of the answer to show."""

    title: str
    words: list[str]
    most: int = MOST_LINES


class Stage:
    """The scratch folder, and what runs in it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.vault = os.path.join(folder, "sample-vault")
        self.settings = {
            "VAULTMEM_STATE": os.path.join(folder, "state"),
            "VAULTMEM_NOTIFY_METHOD": "none",  # what is due in a sample is no news for your desktop
            "XDG_CONFIG_HOME": os.path.join(folder, "config"),
            "TMPDIR": os.path.join(folder, "tmp"),  # what libraries leave there goes as well
        }

    def run(self, words: list[str]) -> subprocess.CompletedProcess[bytes]:
        """Run a command of ours as a person would, inside the vault."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "vaultmem", *words, "--format", "text"],
            cwd=self.vault, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
        )  # fmt: skip

    def is_watching(self) -> bool:
        """Whether the agent has looked at everything, and hears of changes from now on."""
        agent = client.call(self.vault, "agent", {})
        if not isinstance(agent, dict):
            return False
        watching = agent.get("watching")
        return bool(agent.get("current") and isinstance(watching, dict) and watching.get("alive"))

    def is_found(self) -> bool:
        """Whether the agent finds the note that was saved."""
        reply = client.call(self.vault, "search", {"query": "sprockleford", "keyword": True})
        return isinstance(reply, dict) and bool(reply.get("count"))


def run(args: argparse.Namespace, output: Output) -> int:
    """Tell the story, then clean up, whatever happens."""
    began = time.monotonic()
    with _signals(_interrupt):  # clean up first, as after Ctrl-C
        folder = os.path.realpath(tempfile.mkdtemp(prefix="vaultmem-demo-"))
        stage = Stage(folder)
        try:
            shutil.copytree(sample_vault(), stage.vault)
            os.mkdir(stage.settings["TMPDIR"])
            with _environment(stage.settings):
                try:
                    steps, delay = _story(stage, output)
                finally:
                    _end_agent(stage.vault)
        finally:
            _clean_up(folder, args.keep, output)
    seconds = time.monotonic() - began
    if output.as_json:
        output.data({"steps": steps, "found_after": delay, "seconds": round(seconds, 2)})
    else:
        rest = "" if args.keep else "; everything is removed again"
        output.remark(f"vaultmem: {len(steps)} steps in {seconds:.1f} s{rest}")
    return 0


def sample_vault() -> str:
    """The sample vault: inside the installed package, or beside it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = (
        os.path.join(package, "sample_vault"),
        os.path.join(os.path.dirname(package), "sample-vault"),
    )
    for place in places:
        if os.path.isdir(place):
            return place
    raise StateError("the sample vault is missing; install vaultmem again: pip install .")


# --- the story


def _story(stage: Stage, output: Output) -> tuple[list[dict[str, object]], float]:
    before = [
        Step("Read the notes, and embed them for search by meaning", ["sync"]),
        Step("Keep the index fresh in the background", ["start"]),
    ]
    after = [
        Step("Search by words", ["search", "--keyword", "sprockleford"]),
        Step("Search by meaning, with none of the note's words",
             ["search", "--semantic", "--limit", "1", "moisture coming through upstairs"]),
        Step("See what links to a note", ["backlinks", "Roof"]),
        Step("Find links that lead nowhere", ["unresolved"]),
        Step("See what is due", ["pending"], 9),
        Step("See how everything is", ["status"], 25),
        Step("End the agent", ["stop"]),
    ]  # fmt: skip
    if not output.as_json:
        output.line(output.paint(f"$ cd {stage.vault}", "bold"))
    done = [_run_step(stage, step, output) for step in before]
    delay = _save(stage, output)
    done.append({"title": "Save a note", "command": None, "seconds": round(delay, 3), "out": NOTE})
    return done + [_run_step(stage, step, output) for step in after], round(delay, 3)


def _run_step(stage: Stage, step: Step, output: Output) -> dict[str, object]:
    """Run one command, and print it with its answer."""
    typed = shlex.join(["vaultmem", *step.words])
    if not output.as_json:
        output.line()
        output.line(output.paint(f"# {step.title}", "dim"))
        output.line(output.paint(f"$ {typed}", "bold"))
    began = time.monotonic()
    ended = stage.run(step.words)
    seconds = time.monotonic() - began
    errors = ended.stderr.decode("utf-8", "replace").splitlines()
    if ended.returncode:
        raise VaultmemError(f"{typed} failed: {errors[-1] if errors else ended.returncode}")
    out = ended.stdout.decode("utf-8", "replace").splitlines()
    if not output.as_json:
        _show([*out, *errors] if len(out) < step.most else out, step.most, seconds, output)
    return {
        "title": step.title,
        "command": typed,
        "seconds": round(seconds, 3),
        "out": "\n".join(out),
    }


def _show(lines: list[str], most: int, seconds: float, output: Output) -> None:
    for line in lines[:most]:
        output.line(line)
    more = f"… {plural(len(lines) - most, 'more line')}, " if len(lines) > most else ""
    output.line(output.paint(f"({more}{seconds:.2f} s)", "dim"))


def _save(stage: Stage, output: Output) -> float:
    """Save a note as an editor does; the seconds until it is found."""
    _wait_for(stage.is_watching, "the agent did not begin to watch")
    path = os.path.join(stage.vault, NOTE)
    with open(path, "w", encoding="utf-8") as file:
        file.write(TEXT.format(today=_today()))
    delay = _wait_for(stage.is_found, "the saved note was not found")
    if not output.as_json:
        output.line()
        output.line(output.paint("# Save a note, as your editor would", "dim"))
        output.line(f'saved "{NOTE}", found by search {delay:.2f} s later')
    return delay


def _wait_for(happened: Callable[[], bool], complaint: str) -> float:
    """Look again and again; the seconds it took."""
    began = time.monotonic()
    while not happened():
        if time.monotonic() - began > PATIENCE:
            raise VaultmemError(f"{complaint} within {PATIENCE:.0f} seconds")
        time.sleep(0.005)
    return time.monotonic() - began


def _today() -> str:
    return time.strftime("%Y-%m-%d")


# --- around it


@contextlib.contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Inside, no process knows the state or the settings of the person."""
    former = dict(os.environ)
    for name in [name for name in former if name.startswith("VAULTMEM_")]:
        del os.environ[name]
    os.environ.update({**settings, "NO_COLOR": "1"})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(former)


@contextlib.contextmanager
def _signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    """Inside, requests to end are handled so."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    former = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end_agent(vault: str) -> None:
    """End the agent, by all means."""
    state = paths.state_folder(vault)
    with _signals(signal.SIG_IGN):  # a second Ctrl-C must not leave half of it behind
        try:
            life.stop(vault)
        except VaultmemError:
            send(state, signal.SIGKILL)
        for pid in named_with(vault):  # one that was interrupted before it held the lock
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until_free(state, 5.0)


def _clean_up(folder: str, keep: bool, output: Output) -> None:
    if keep:
        output.remark(f"vaultmem: kept in {folder}; its index: VAULTMEM_STATE={folder}/state")
        return
    with _signals(signal.SIG_IGN):  # a second Ctrl-C must not leave half of it behind
        shutil.rmtree(folder, ignore_errors=True)
