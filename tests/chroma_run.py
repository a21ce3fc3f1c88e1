"""A real Chroma server for tests: `chroma run` of the package chromadb, named by TESTS_CHROMA or found on the path.

Without it its tests are skipped with a message; .ci/run installs one if the package index has it.
"""

import os
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.agent_run import DYING, until
from vaultmem.config import Config
from vaultmem.vectors.shared_index import ACCEPT, ANSWER, Mirror, Place, Setup
from vaultmem.vectors.vectors import VectorStore
from vaultmem_chroma.remote import open_server

PROGRAM = os.environ.get("TESTS_CHROMA") or shutil.which("chroma") or ""
needs_chroma = pytest.mark.skipif(
    not PROGRAM, reason="no Chroma server: TESTS_CHROMA names no program, and none is on the path"
)


class Server:
    """A server that can be killed and started again on the same port and data."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        with socket.socket() as one:
            if not port:
                one.bind(("127.0.0.1", 0))
            self.port = port or int(one.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [*DYING, PROGRAM, "run", "--path", str(self._folder), "--port", str(self.port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )  # fmt: skip
        until(self._answers, 60)

    def kill(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        if self._process:
            self.kill()

    def replace_if_dead(self) -> None:
        """A server that its own files, broken by a kill, have ended starts again without them."""
        assert self._process
        if self._process.poll() is not None:
            shutil.rmtree(self._folder)
            self.start()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=5):
                return True
        except OSError:
            return False


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of a module."""
    server = Server(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.stop()


PLACE = Place("Note.md", 1, 2, {"scope": "global"})


@contextmanager
def shared(
    store: VectorStore, server: Server, collection: str, narrow: int = 0, **settings: str
) -> Iterator[Mirror]:
    """The shared index of a made-up store."""
    chosen = {"url": server.url, "collection": collection, **settings}
    config = Config({f"index.chroma.{name}": value for name, value in chosen.items()})
    setup = Setup(store, config, "a-vault", lambda place, digest: f"{place.path} {digest.hex()}")
    servers = [open_server(config, store.folder.name, patience) for patience in (ANSWER, ACCEPT)]
    with closing(Mirror(setup, servers[0], servers[1], narrow)) as index:
        yield index
