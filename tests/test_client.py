"""The thin client: finds the agent of a vault, and never depends on it, whatever it does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.cli_run import Ran, at_terminal, one_line, process, ran
from tests.conftest import Write
from tests.index_dump import synced
from tests.stand_in_agent import agent_for
from vaultmem import client, paths
from vaultmem.client import NOBODY, AgentError, call
from vaultmem.index.state import State

Handle = Callable[[socket.socket], None]


@pytest.fixture
def indexed(vault: Path, write: Write) -> Path:
    write("Note.md", "apple [[Other]]\n\n- [ ] pick 📅 2026-01-02\n")
    write("Other.md", "apple pear [[Note]]\n")
    synced(vault)
    return vault


@contextlib.contextmanager
def strange_agent(vault: Path, handle: Handle) -> Iterator[list[bytes]]:
    """Something that listens where the agent of a vault would; what it is told, and what it does to clients."""
    path = paths.socket_path(str(vault))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    heard: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            with link, contextlib.suppress(OSError):
                heard.append(link.recv(1 << 20))
                handle(link)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
        listener.close()
        os.unlink(path)


def says(*lines: object) -> Handle:
    def handle(link: socket.socket) -> None:
        for line in lines:
            link.sendall(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")

    return handle


# --- calls


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_it_reads_and_writes_json_as_json_does(value: object) -> None:
    assert json.loads(client._to_json(value)) == value
    assert client._read(json.dumps(value, ensure_ascii=False)) == value
    assert "\n" not in client._to_json(value)


STRANGE: dict[str, Handle] = {
    "ends at once": says(),
    "half a line": says(b'{"id": 1, "res'),
    "garbage": says(b"\xff\xfe\x00 garbage\n"),
    "no object": says([1, 2]),
    "text": says(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "empty": says(b"\n"),
    "deep": says(b"[" * 100_000 + b"\n"),
    "no result": says({"id": 1}),
    "odd error": says({"id": 1, "error": {"code": "x"}}),
    "odd progress": says({"id": 1, "progress": {"stage": None, "done": "x"}}),
}


class Heard:
    """A Progress that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def stage(self, name: str, total: int) -> None:
        self.heard.append((name, total))

    def advance(self, count: int = 1) -> None:
        self.heard.append(count)


@each_case("name", STRANGE)
def test_a_strange_agent_is_an_error_of_one_kind(vault: Path, name: str) -> None:
    with strange_agent(vault, STRANGE[name]), pytest.raises(AgentError) as error:
        call(str(vault), "ping", {}, progress=Heard())
    assert error.value.code == 0


def test_progress_is_told_on(vault: Path) -> None:
    def at(stage: str, done: int, total: int) -> dict[str, object]:
        return {"id": 1, "progress": {"stage": stage, "done": done, "total": total}}

    told = Heard()
    lines = (
        at("read", 0, 10),
        at("read", 4, 10),
        at("embed", 1, 0),
        at("embed", 5, 0),
        at("embed", 2, 3),
    )
    with strange_agent(vault, says(*lines, {"id": 1, "result": 5})):
        assert call(str(vault), "sync", {}, progress=told) == 5
    assert told.heard == [("read", 10), 0, 4, ("embed", 0), 1, 4, ("embed", 3), 2]


# --- whose socket it is


@pytest.fixture
def listened(indexed: Path) -> Iterator[str]:
    """The path of a socket that answers, until a test spoils it."""
    with strange_agent(indexed, says({"id": 1, "result": "here"})):
        assert call(str(indexed), "ping", {}) == "here"
        yield paths.socket_path(str(indexed))


@pytest.mark.parametrize("loose", [0o755, 0o770, 0o711, 0o500])
def test_a_folder_that_others_can_enter_is_not_trusted(
    indexed: Path, listened: str, loose: int
) -> None:
    os.chmod(os.path.dirname(listened), loose)
    try:
        assert call(str(indexed), "ping", {}) is NOBODY
        assert ran("links", "Note", "--vault", str(indexed), "--format", "json").code == 0
    finally:
        os.chmod(os.path.dirname(listened), 0o700)


def test_a_socket_that_is_a_link_or_a_file_is_not_trusted(indexed: Path, listened: str) -> None:
    os.rename(listened, f"{listened}-moved")
    try:
        os.symlink(f"{listened}-moved", listened)
        assert call(str(indexed), "ping", {}) is NOBODY
        os.unlink(listened)
        Path(listened).write_text("")
        assert call(str(indexed), "ping", {}) is NOBODY
        os.unlink(listened)
        os.mkfifo(listened)
        assert call(str(indexed), "ping", {}) is NOBODY
        os.unlink(listened)
    finally:
        os.rename(f"{listened}-moved", listened)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_what_belongs_to_somebody_else_is_not_trusted(indexed: Path, listened: str) -> None:
    for place in (os.path.dirname(listened), listened):
        os.chown(place, 12345, -1)
        assert call(str(indexed), "ping", {}) is NOBODY
        os.chown(place, os.getuid(), -1)
    assert call(str(indexed), "ping", {}) == "here"


# --- where the socket is


@each_case(
    "name", ["two\nlines", "泡菜 ü", "x" * 200, "a b'c\"", os.fsdecode(b"\xff\xfe"), "-", "--vault"]
)
def test_vaults_of_any_name(tmp_path: Path, name: str) -> None:
    vault = tmp_path / name
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Note.md").write_text("apple")
    synced(vault)
    alone = ran("search", "apple", "--format", "json", "--vault", str(vault))
    with agent_for(vault) as host:
        assert ran("search", "apple", "--format", "json", "--vault", str(vault)) == alone
        assert ran("search", "apple", "--format", "json", f"--vault={vault}") == alone
        assert host.opened == 2
    assert alone.data["count"] == 1


# --- the vault that is meant


def test_the_vault_is_found_as_without_an_agent(
    indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (indexed / "deep" / "down").mkdir(parents=True)
    with agent_for(indexed) as host:

        def asked(*words: str) -> int:
            before = host.opened
            assert ran("links", "Note", "--format", "json", *words).code == 0
            return host.opened - before

        assert asked("--vault", str(indexed)) == 1
        assert asked(f"--vault={indexed}") == 1
        assert asked("--vault", str(tmp_path / "nowhere"), "--vault", str(indexed)) == 1
        monkeypatch.chdir(indexed.parent)
        assert asked("--vault", "vault") == 1
        monkeypatch.chdir(indexed / "deep" / "down")
        assert asked() == 1
        assert asked("--vault", "../..") == 1
        monkeypatch.chdir(tmp_path)
        with monkeypatch.context() as patch:
            patch.setenv("VAULTMEM_VAULT", str(indexed))
            assert asked() == 1
        with monkeypatch.context() as patch:
            patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
            (tmp_path / "config" / "vaultmem").mkdir(parents=True)
            (tmp_path / "config" / "vaultmem" / "config.yaml").write_text(f"vault: {indexed}\n")
            host.signature = client.settings()
            assert asked() == 1


def test_errors_in_naming_the_vault_are_the_same(
    indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = [
        ("links", "Note", "--vault", str(tmp_path / "nowhere")),
        ("links", "Note", "--vault", "nul\0byte"),
        ("links", "Note", "--vault"),
        ("links", "Note"),
        ("links", "Note", "--vault", ""),
        ("search", "--", "--vault", str(indexed)),
    ]
    alone = [ran(*words) for words in wrong]
    with agent_for(indexed) as host:
        assert [ran(*words) for words in wrong] == alone
        assert host.opened == 0
    assert {ended.code for ended in alone} == {1, 2}


# --- strange agents under a command


@each_case("name", STRANGE)
def test_a_command_does_not_mind_a_strange_agent(indexed: Path, name: str) -> None:
    words = ("search", "apple", "--format", "json", "--vault", str(indexed))
    alone = ran(*words)
    with strange_agent(indexed, STRANGE[name]) as heard:
        assert ran(*words) == alone
        assert heard
    assert alone.code == 0


@pytest.mark.parametrize(
    "reply",
    [
        None,
        5,
        {},
        {"code": "0", "out": "", "err": ""},
        {"code": 0, "out": 1, "err": ""},
        {"code": 0, "out": ""},
    ],
)
def test_odd_results_are_no_results(indexed: Path, reply: object) -> None:
    words = ("search", "apple", "--format", "json", "--vault", str(indexed))
    with strange_agent(indexed, says({"id": 1, "result": reply})):
        assert ran(*words, "--json").data["count"] == 2


def test_a_silent_agent_holds_nobody_up_for_long(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FIRST_BYTE", 0.2)

    def silent(link: socket.socket) -> None:
        link.settimeout(20)
        link.recv(1)

    with strange_agent(indexed, silent):
        assert (
            ran("search", "apple", "--format", "json", "--vault", str(indexed)).data["count"] == 2
        )


def test_an_agent_that_is_stopped_in_its_tracks(indexed: Path) -> None:
    """Its queue takes clients as long as there is room; then they are not even let in."""
    path = paths.socket_path(str(indexed))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as waiting:
        deaf.bind(path)
        deaf.listen(0)
        waiting.connect(path)
        assert (
            ran("search", "apple", "--format", "json", "--vault", str(indexed)).data["count"] == 2
        )
    os.unlink(path)


# --- the process


def test_interrupted_while_waiting(indexed: Path) -> None:
    entered = threading.Event()

    def silent(link: socket.socket) -> None:
        entered.set()
        link.settimeout(20)
        link.recv(1)

    with strange_agent(indexed, silent):
        running = subprocess.Popen(
            [sys.executable, "-m", "vaultmem", "search", "apple", "-s", "--format", "text", "--vault", str(indexed)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert entered.wait(60)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    ended = Ran(running.returncode, out, err)
    assert (ended.code, ended.out) == (130, "")
    assert "interrupted" in one_line(ended)


ENTRY = "import sys; sys.argv[0] = 'vaultmem'; from vaultmem.cli import entry; entry()"


def entered(*words: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    """Run the function that the installed script calls."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", ENTRY, *words],
        capture_output=True,
        timeout=60,
        check=False,
        **more,
    )  # type: ignore[call-overload, no-any-return]


def test_a_process_ends_without_taking_python_down() -> None:
    """Threads may be at work in C++, which aborts where Python's end tears them out of it."""
    abort = "import atexit, os; atexit.register(os.abort)"
    for words in (["--version"], ["init", "/nowhere/at/all"]):
        ended = subprocess.run(
            [sys.executable, "-c", f"{abort}; {ENTRY}", *words], capture_output=True, check=False
        )
        assert ended.returncode in (0, 1), ended.stderr


def test_the_script_leaves_with_all_written(indexed: Path) -> None:
    words = ("links", "Note", "--format", "json", "--vault", str(indexed))
    alone = entered(*words)
    wrong = entered("links", "Nowhere", "--vault", str(indexed))
    with agent_for(indexed) as host:
        through = entered(*words)
        assert host.opened == 1
        assert (through.returncode, through.stdout, through.stderr) == (
            0,
            alone.stdout,
            alone.stderr,
        )
        failed = entered("links", "Nowhere", "--vault", str(indexed))
        assert host.opened == 2
    assert (failed.returncode, failed.stdout, failed.stderr) == (1, b"", wrong.stderr)
    assert json.loads(alone.stdout)["count"] == 1


def test_a_reader_that_stops(indexed: Path, write: Write) -> None:
    write("Long.md", "".join(f"- [ ] apple number {n}\n" for n in range(5000)))
    synced(indexed)
    with agent_for(indexed):
        for run in ("-m vaultmem", f'-c "{ENTRY}"'):
            piped = f"{sys.executable} -W error {run} tasks --format text --vault '{indexed}' | head -n 1"
            ended = subprocess.run(
                ["bash", "-o", "pipefail", "-c", piped], capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stderr
            assert len(ended.stdout.splitlines()) == 1
            assert "5,001 tasks" in ended.stderr
            assert len(ended.stderr.splitlines()) == 1, ended.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_written(indexed: Path) -> None:
    with agent_for(indexed), open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "vaultmem", "tasks", "--format", "json", "--vault", str(indexed)],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "cannot be written" in one_line(Ran(1, "", ended.stderr))


def test_closed_streams(indexed: Path) -> None:
    with agent_for(indexed) as host:
        for closed in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
            command = f"{sys.executable} -m vaultmem links Note --vault '{indexed}' {closed}"
            ended = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0
            assert "Traceback" not in ended.stderr
        assert host.opened == 4


# --- a sync through the agent


def test_a_sync_goes_through_the_agent_that_holds_the_lock(indexed: Path, write: Write) -> None:
    write("New.md", "new")
    with agent_for(indexed) as host:
        ended = ran("sync", "--format", "json", "--vault", str(indexed))
        assert ended.code == 0, ended.err
        assert (ended.data["added"], ended.data["embedded"], ended.data["model"]) == (
            1,
            7,
            "a-model",
        )
        assert "1 added" in ended.err
        assert "7 blocks embedded with a-model" in ended.err
        assert [one["embed"] for one in host.synced] == [False, True]
        host.synced.clear()
        plain = ran(
            "sync",
            "--rebuild",
            "--confirm-removals",
            "--no-embed",
            "--format",
            "text",
            "--vault",
            str(indexed),
        )
        assert host.synced == [{"rebuild": True, "confirm_removals": True, "embed": False}]
        assert len(plain.err.splitlines()) == 1
        assert not plain.out
        host.synced.clear()
        assert ran("sync", "--dry-run", "--format", "json", "--vault", str(indexed)).data["dry_run"]
        assert not host.synced
    alone = ran("sync", "--no-embed", "--format", "json", "--vault", str(indexed))
    assert alone.data.keys() == ended.data.keys()


def test_an_agent_that_ends_during_a_sync_is_done_without(indexed: Path) -> None:
    with strange_agent(
        indexed, says({"id": 1, "progress": {"stage": "reading", "done": 0, "total": 5}})
    ):
        ended = ran("sync", "--no-embed", "--format", "json", "--vault", str(indexed))
    assert ended.code == 0
    assert ended.data["unchanged"] == 2


def test_an_agent_of_another_age_holds_the_lock(indexed: Path) -> None:
    error = {"id": 1, "error": {"code": -32601, "message": "unknown method"}}
    with strange_agent(indexed, says(error)), State(str(indexed)).lock():
        ended = ran("sync", "--format", "text", "--vault", str(indexed))
    assert ended.code == 1
    assert f"process {os.getpid()}" in one_line(ended)


def test_colours_and_order_on_a_terminal(indexed: Path) -> None:
    for words in (
        ("backlinks", "Note", "--mentions"),
        ("search", "apple"),
        ("tasks",),
        ("search", "apple", "--format", "json"),
    ):
        alone = at_terminal(*words, "--vault", str(indexed))
        with agent_for(indexed) as host:
            assert at_terminal(*words, "--vault", str(indexed)) == alone
            assert host.opened == 1
    assert process("links", "Note", "--vault", str(indexed)).code == 0
