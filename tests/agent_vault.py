"""A vault of both editors that an agent watches, and a constant searcher."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import PATIENCE, Agent, agent_on, until
from vaultmem import client, paths


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state root for this module's agents."""
    root = tmp_path_factory.mktemp("agents")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(root / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        patch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
        yield root


def fill(vault: Path, count: int = 60) -> Path:
    """A vault of both editors, with links between its notes."""
    for file, text in ((".obsidian/app.json", "{}"), ("logseq/config.edn", "{}")):
        put(vault / file, text)
    for number in range(count):
        text = f"# Note {number}\n\nApple roof [[Note {(number + 1) % count}]] #t{number % 5}\n\n- [ ] task {number}\n"
        put(vault / f"base{number % 3}" / f"Note {number}.md", text)
    return vault


def put(file: Path, text: str | bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.fixture(scope="module")
def live(own: Path) -> Iterator[Agent]:
    """One agent for everything that people and editors do to notes."""
    with agent_on(fill(own / "vault", 150)) as agent:  # 30 may be deleted without confirmation
        yield agent.watches()


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


class Reader(threading.Thread):
    """Searches constantly, and records the results."""

    def __init__(self, agent: Agent, words: str) -> None:
        super().__init__(daemon=True)
        self.agent, self.words = agent, words
        self.seen: list[frozenset[str]] = []
        self.errors: list[str] = []
        self.ending = threading.Event()

    def run(self) -> None:
        while not self.ending.is_set():
            try:
                said = self.agent.call("search", query=self.words, limit=20)
                self.seen.append(frozenset(one["path"] for one in said["results"]))
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shall say it
                self.errors.append(repr(error))
            time.sleep(0.03)  # let indexing proceed meanwhile


@pytest.fixture(autouse=True)
def no_settings(own: Path) -> Iterator[None]:  # noqa: ARG001 - its settings are meant
    """Settings of one test do not reach the next."""
    yield
    Path(paths.config_file()).unlink(missing_ok=True)


@contextlib.contextmanager
def reading(agent: Agent, words: str) -> Iterator[Reader]:
    """Search constantly during the block, and never get an error."""
    reader = Reader(agent, words)
    reader.start()
    try:
        until(lambda: reader.seen or reader.errors)
        yield reader
    finally:
        reader.ending.set()
        reader.join(PATIENCE)
    assert not reader.errors, (reader.errors[:3], agent.process.poll(), agent.err()[-2000:])


def schedule(agent: Agent) -> object:
    """When the first job runs; nothing while the agent restarts."""
    with contextlib.suppress(client.AgentError, TypeError):
        return next((job["schedule"] for job in agent.status()["jobs"]), None)
    return None
