"""Runs a real agent process on a vault, talks to it, and ensures that it never outlives the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cli_run import Ran
from tests.index_dump import contents, differences, rebuilt
from vaultmem import client, paths
from vaultmem.service.log import log_file

# seconds; nothing that works takes this long
PATIENCE = float(os.environ.get("VAULTMEM_PATIENCE", "60"))
PATCHED = "import sys; from vaultmem import cli; {}\ncli.entry()"
_SOON = 0.05  # constant polling slows the agent down


def until(holds: Callable[[], object], seconds: float = PATIENCE, what: str = "") -> Any:
    """Wait for a condition, and return its value."""
    deadline = time.monotonic() + seconds
    while True:
        if value := holds():
            return value
        assert time.monotonic() < deadline, what or "it never came true"
        time.sleep(_SOON)


# Before a command, which then dies with the test process. A `preexec_fn` could do that, too, but with one Python forks,
# which takes longer the more memory a process has, and tests have much.
_SETPRIV = shutil.which("setpriv")
DYING = [_SETPRIV, "--pdeathsig", "KILL"] if _SETPRIV else []


class Agent:
    """A `vaultmem serve` started by this process."""

    def __init__(self, vault: Path, process: subprocess.Popen[bytes], stderr: Path) -> None:
        self.vault, self.process, self.stderr = vault, process, stderr

    @property
    def state(self) -> Path:
        """The state folder of its vault."""
        return Path(paths.state_folder(str(self.vault)))

    def call(self, method: str, **params: object) -> Any:
        """The result of a method of its socket. Raises AgentError."""
        return client.call(str(self.vault), method, params, timeout=PATIENCE)

    def command(self, command: str, *words: str) -> Ran:
        """The output of a command that the agent carries out."""
        request = client._request(command, [*words, "--format", "json"], None)
        ended = self.call("run", **request)
        out, err = (
            "".join(text for name, text in ended["parts"] if name == one) for one in ("out", "err")
        )
        return Ran(ended["code"], out, err)

    def pid(self) -> int | None:
        """The process that answers, if any."""
        try:
            answer = client.call(str(self.vault), "ping", {}, timeout=PATIENCE)
        except client.AgentError:
            return None
        return int(answer["pid"]) if isinstance(answer, dict) else None

    def answers(self) -> Agent:
        """Wait until it answers."""
        until(lambda: self.pid() == self.process.pid or self._ended(), what="no agent answered")
        return self

    def _ended(self) -> None:
        assert self.process.poll() is None, (self.process.returncode, self.err())

    def err(self) -> str:
        """The contents of its stderr, which has its log."""
        return self.stderr.read_text("utf-8", "replace")

    def log(self) -> str:
        """Its log."""
        file = Path(log_file(str(self.state)))
        return file.read_text("utf-8", "replace") if file.exists() else ""

    def search(self, words: str) -> set[str]:
        """The paths of the notes that a search finds."""
        return {one["path"] for one in self.call("search", query=words, limit=100)["results"]}

    def status(self) -> Any:
        """Its own report of its state."""
        return self.call("status")["agent"]

    def is_current(self) -> bool:
        """Whether it has nothing to do."""
        now = self.status()
        return bool(now["current"] and not now["waiting"] and not now["indexing"])

    def watches(self) -> Agent:
        """Wait until it has read everything and notices changes."""
        until(lambda: self.status()["watching"] and self.status()["watching"]["whole"])
        until(self.is_current, what="it never became current")
        return self

    def finds(self, words: str, *paths: str) -> None:
        """Wait until a search finds exactly these notes."""
        wanted = set(paths)
        deadline = time.monotonic() + PATIENCE
        while (paths := self.search(words)) != wanted:
            assert time.monotonic() < deadline, (words, paths ^ wanted)
            time.sleep(_SOON)

    def settles(self, scratch: Path) -> None:
        """Wait until the index equals one built from scratch, and stays so."""
        deadline = time.monotonic() + PATIENCE
        while differing := self._differing(scratch):
            assert time.monotonic() < deadline, (differing, self.err())
            time.sleep(0.2)

    def _differing(self, scratch: Path) -> list[object]:
        return differing(self.vault, scratch) if self.is_current() else ["it is at work"]

    def ends(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end. Returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def numbers(self) -> tuple[int, int, int]:
        """Its open files, its threads, and its memory in bytes."""
        proc = Path(f"/proc/{self.process.pid}")
        pages = int((proc / "statm").read_text().split()[1])
        files, threads = len([*(proc / "fd").iterdir()]), len([*(proc / "task").iterdir()])
        return files, threads, pages * os.sysconf("SC_PAGE_SIZE")


def differing(vault: Path, scratch: Path) -> list[object]:
    """How the index differs from one built from scratch. Problems of a walk are only reported by walks."""
    all_of = differences(contents(vault), rebuilt(vault, scratch))
    return [each for each in all_of if each[0] != "troubles"]


def launched(
    vault: Path, stderr: Path, patch: str = "", words: tuple[str, ...] = (), **environ: str
) -> Agent:
    """Start one without waiting; `patch` is Python that it runs first, `words` are further options."""
    start = ["-c", PATCHED.format(patch)] if patch else ["-m", "vaultmem"]
    with stderr.open("wb") as err:
        process = subprocess.Popen(
            [*DYING, sys.executable, *start, "serve", "--vault", str(vault), *words],
            stdin=subprocess.DEVNULL, stdout=err, stderr=err,
            env={**os.environ, "VAULTMEM_EMBEDDING_MODEL": "off", **environ},
        )  # fmt: skip
    return Agent(vault, process, stderr)


@contextlib.contextmanager
def agent_on(
    vault: Path, patch: str = "", words: tuple[str, ...] = (), **environ: str
) -> Iterator[Agent]:
    """An agent that answers, until the end of the block."""
    agent = launched(vault, vault.parent / f"{vault.name}.err", patch, words, **environ)
    with ending(agent):
        yield agent.answers()


@contextlib.contextmanager
def ending(agent: Agent) -> Iterator[Agent]:
    """Ensure that it has ended after the block, whatever happens."""
    try:
        yield agent
    finally:
        agent.process.kill()
        agent.process.wait()
