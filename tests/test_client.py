"""The thin client finds the agent of a vault and works whatever that agent does."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given

from tests.cli_run import on, ran
from tests.client_run import indexed, says, strange_agent
from tests.conftest import fill
from tests.index_dump import synced
from tests.laws import JSON
from tests.stand_in_agent import agent_for
from tests.tables import each_case
from vaultmem import client, paths
from vaultmem.client import NO_AGENT, call

__all__ = ["indexed"]  # fixtures


@given(JSON)
def test_it_reads_and_writes_json_as_json_does(value: object) -> None:
    assert json.loads(client._to_json(value)) == value
    assert client._read(json.dumps(value, ensure_ascii=False)) == value
    assert "\n" not in client._to_json(value)


class Heard:
    """A Progress that keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def stage(self, name: str, total: int) -> None:
        self.heard.append((name, total))

    def advance(self, count: int = 1) -> None:
        self.heard.append(count)


def test_progress_is_told_on(vault: Path) -> None:
    def at(stage: str, done: int, total: int) -> dict[str, object]:
        return {"id": 1, "progress": {"stage": stage, "done": done, "total": total}}

    told = Heard()
    lines = [at("read", 0, 10), at("read", 4, 10), at("embed", 1, 0), at("embed", 5, 0)]
    with strange_agent(vault, says(*lines, at("embed", 2, 3), {"id": 1, "result": 5})):
        assert call(str(vault), "sync", {}, progress=told) == 5
    assert told.heard == [("read", 10), 0, 4, ("embed", 0), 1, 4, ("embed", 3), 2]


def test_a_socket_that_somebody_else_could_have_put_there_is_not_trusted(indexed: Path) -> None:
    socket = Path(paths.socket_path(str(indexed)))
    moved = socket.with_name("moved")
    with strange_agent(indexed, says({"id": 1, "result": "here"})):

        def is_trusted() -> bool:
            return call(str(indexed), "ping", {}) is not NO_AGENT

        assert is_trusted()
        for loose in (0o755, 0o770, 0o711, 0o500):
            socket.parent.chmod(loose)
            assert not is_trusted(), oct(loose)
        assert on(indexed, "links", "Note", "--format", "json").code == 0
        socket.parent.chmod(0o700)
        if os.getuid() == 0:  # only root can give a folder away
            for place in (socket.parent, socket):
                os.chown(place, 12345, -1)
                assert not is_trusted(), place
                os.chown(place, 0, -1)
        socket.rename(moved)
        for put in (lambda: socket.symlink_to(moved), socket.touch, lambda: os.mkfifo(socket)):
            put()
            assert not is_trusted()
            socket.unlink()
        moved.rename(socket)
        assert is_trusted()


@each_case("name", ["two\nlines", "泡菜 ü", "x" * 200, os.fsdecode(b"\xff\xfe"), "--vault"])
def test_vaults_of_any_name(tmp_path: Path, name: str) -> None:
    vault = tmp_path / name
    synced(fill(vault, {".obsidian/app.json": "{}", "Note.md": "apple"}))
    alone = on(vault, "search", "apple", "--format", "json")
    with agent_for(vault) as host:
        assert on(vault, "search", "apple", "--format", "json") == alone
        assert ran("search", "apple", "--format", "json", f"--vault={vault}") == alone
        assert host.opened == 2
    assert alone.data["count"] == 1


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
            fill(tmp_path, {"config/vaultmem/config.yaml": f"vault: {indexed}\n"})
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
