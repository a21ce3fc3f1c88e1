"""Shared by all tests: separate state and settings, small vaults, the sample vault."""

import contextlib
import ctypes
import errno
import functools
import gc
import importlib
import os
import random
import shutil
import signal
import stat
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests import kill_points, tables
from tests.index_dump import synced
from tests.laws import NEW, examples
from tests.real_llm import real_llm
from tests.scripted_llm import scripted_llm
from vaultmem import Vault
from vaultmem.embedding import bert, embed, minilm
from vaultmem.embedding.models import Model
from vaultmem.vault import files as reading

__all__ = ["real_llm", "scripted_llm"]  # fixtures of all tests

SAMPLE = Path(__file__).parents[1] / "sample-vault"

Write = Callable[..., Path]
IN_MEMORY = "/dev/shm"  # most of the time, tests would wait for a disk to confirm writes
SPARING = {"MALLOC_ARENA_MAX": "2"}  # kept per user, for one run after another


# Run first, so that no long file is left for the end while the other processor is idle.
LONG = (
    "test_life", "test_two_machines", "test_real_harnesses", "test_web_browser", "test_benchmarks", "test_agent_process",
    "test_llm_real", "test_container", "test_anthropic_beside", "test_alarm_year", "test_planted_bugs", "test_damaged_state",
    "test_proxy_process", "test_answering_reminders", "test_agent_kill", "test_worker_kills", "test_proxy_told",
    "test_vectors", "test_demo", "test_batches", "test_agent_losses", "test_dispatch", "test_agent_reminders",
    "test_client_commands", "test_state", "test_sync_laws", "test_conversation_files", "test_chroma", "test_warm_search",
    "test_kill", "test_watch_kernel", "test_identity", "test_bad_input", "test_agent_ends", "test_by_meaning", "test_ranking",
    "test_house",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options to run each row of a table separately, see tests/tables.py, and to check that no test depends on
    another."""
    parser.addoption("--rows", action="store_true", help="each row of a table is a test of its own")
    parser.addoption(
        "--shuffle",
        metavar="SEED",
        help="run files, and tests of a file, in an order made from SEED",
    )


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Make each table one test."""
    if parent.config.getoption("rows"):
        return None
    return tables.Module.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a fresh copy each worker would compile every file: each starts with its share, and finds the others'
    compiled."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    files = sorted(Path(__file__).parent.glob("test_*.py"))
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # reported later
            importlib.import_module(file.stem)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Order the selected tests: files that fork and long files first, rows of a table together."""
    yield
    rank = {name: float(number) for number, name in enumerate(LONG)}
    rank |= {item.path.stem: -1.0 for item in items if _forks(item)}
    if not config.getoption("rows"):
        items[:] = tables.joined(items)
    if seed := config.getoption("shuffle"):
        chance = random.Random(seed)
        chance.shuffle(items)
        rank = {name: chance.random() for name in sorted({item.path.stem for item in items})}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONG)))


def _forks(item: pytest.Item) -> bool:
    """Whether its file forks the test process dozens of times. That takes longer the more memory the process has: at
    the end of all tests ten times as long as at the beginning."""
    module = item.getparent(pytest.Module)
    names = vars(module.obj).values() if module else ()
    return any(getattr(one, "__module__", "") == kill_points.__name__ for one in names)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run the rows of a table."""
    if not isinstance(item, tables.Table):
        return None
    tables.run(item, nextitem)
    return True


def pytest_collection_finish() -> None:
    """Exempt what lives until the end from garbage collection, and collect the rest less often than by default: 5 % of
    the work of the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Use short paths for sockets, as parallel tests have folders one level deeper. Let children be interrupted even
    if a shell started us in the background, ignoring signals."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # until all is collected, which lives until the end
    # Otherwise each of a thousand processes would compile all its imports.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # For all laws: wall time means nothing, see tests/effort.py. A law may ask for more examples.
    settings.register_profile(
        "patient", deadline=None, max_examples=examples(90), derandomize=not NEW,
        suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip
    settings.load_profile("patient")
    if tables.ANY_FAILURE:
        settings.register_profile(
            "any", settings.get_profile("patient"), phases=[Phase.explicit, Phase.generate]
        )
        settings.load_profile("any")
    if not hasattr(config, "workerinput"):
        os.environ.update(SPARING)
    if "TMPDIR" not in os.environ and _has_room(IN_MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = IN_MEMORY
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = tempfile.mkdtemp(prefix="vm-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


def _has_room(folder: str) -> bool:
    """Whether everything that tests write fits, which is less than half of this."""
    return os.access(folder, os.W_OK | os.X_OK) and shutil.disk_usage(folder).free > 4 << 30


def _not_installed() -> list[str]:
    """Entry points of pyproject.toml that the installed package lacks, or has elsewhere."""
    project = tomllib.loads((SAMPLE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    installed = {
        (point.group, point.name): point.value for point in distribution("vaultmem").entry_points
    }
    return [
        f"{group} {name}"
        for group, points in project["entry-points"].items()
        for name, value in points.items()
        if installed.get((group, name)) != value
    ]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say so, and what to type, if the checkout has moved on since it was installed."""
    if not hasattr(session.config, "workerinput") and (missing := _not_installed()):
        pytest.exit(
            f"install again: pip install --no-deps -e . (entry points: {', '.join(missing)})", 4
        )


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reaches the state or settings of the person running it."""
    root = tmp_path_factory.mktemp("own")
    kept = dict(os.environ)
    for name in ("COLUMNS", "LINES", *SPARING):  # a test runner may set them
        os.environ.pop(name, None)
    for name in [*os.environ]:
        if name.startswith("VAULTMEM_") or name in ("NO_COLOR", "FORCE_COLOR"):
            del os.environ[name]
    os.environ["VAULTMEM_STATE"] = str(root / "state")
    os.environ["XDG_CONFIG_HOME"] = str(root / "config")
    os.environ["VAULTMEM_NOTIFY_METHOD"] = "none"  # and none shows desktop notifications
    yield root
    os.environ.clear()
    os.environ.update(kept)


def _sockets() -> set[int]:
    """The open sockets of this process, by inode."""
    found = set()
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            seen = os.fstat(int(name))
            if stat.S_ISSOCK(seen.st_mode):
                found.add(seen.st_ino)
    return found


@pytest.fixture(scope="module", autouse=True)
def memory_given_back() -> Iterator[None]:
    """Free what the tests of a file took: models, syntax trees, notes of megabytes. What stays is exempt from later
    garbage collections."""
    yield
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


_load, _vector = embed._load, functools.lru_cache(20_000)(bert.RunningBert._mean)
_loaded: dict[int, Any] = {}  # by number of threads


def _load_once(model: Model, threads: int) -> Any:
    if model.name != minilm.NAME:
        return _load(model, threads)
    if threads not in _loaded:
        _loaded[threads] = _load(model, threads)
    return _loaded[threads]


@pytest.fixture(scope="module", autouse=True)
def each_text_embedded_once() -> Iterator[None]:
    """Vaults opened in this process share the default model in memory, and its vector of each text. The module that
    tests the model overrides this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embed, "_load", _load_once)
        patch.setattr(bert.RunningBert, "_mean", _vector)
        yield


@pytest.fixture(autouse=True)
def no_socket_left() -> Iterator[None]:
    """A socket left open by a test fails that test, and not one in which it happens to be collected. Collecting after
    each test would take longer than the tests."""
    before = _sockets()
    yield
    if _sockets() - before:
        gc.collect()


@pytest.fixture(autouse=True)
def own_zone() -> Iterator[None]:
    """A command in this process sets its time zone for good: here, only until the end of the test."""
    before = os.environ.get("TZ")
    yield
    os.environ.pop("TZ", None)
    if before is not None:
        os.environ["TZ"] = before
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.fixture
def without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results by words alone are the same on every machine."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")


@pytest.fixture
def never_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes counts as just written until its end, however slow the machine is."""
    monkeypatch.setattr(reading, "SETTLED_NS", 3_600 * 10**9)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """An empty folder that Obsidian has opened once."""
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    return folder


@pytest.fixture
def opened(vault: Path) -> Iterator[Vault]:
    """The same, open in this process."""
    with Vault(str(vault)) as found:
        yield found


def fill(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, which is returned."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def disk_full(*_: object, **__: object) -> Any:
    """Stands in for what writes."""
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def write(vault: Path) -> Write:
    """Write a note of the vault: text, or bytes."""

    return lambda path, content="": fill(vault, {path: content}) / path


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the sample vault that the tests of a module only read; embeddings made by one are not another's."""
    copy = Path(shutil.copytree(SAMPLE, tmp_path_factory.mktemp("sample") / "sample-vault"))
    yield copy
    left = {str(one.relative_to(copy)) for one in copy.rglob("*") if one.is_file()}
    assert left == {str(one.relative_to(SAMPLE)) for one in SAMPLE.rglob("*") if one.is_file()}, (
        "a test wrote into the vault that all tests of its module read"
    )


@pytest.fixture(scope="module")
def indexed(sample: Path) -> Path:
    """The same, with an index."""
    synced(sample)
    return sample


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test's log may contain half characters, and reports of parallel tests travel as UTF-8."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report
