"""The state folder: one generation in force, one writer, everything else swept away."""

import json
import os
import subprocess
import sys
from _thread import get_ident
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import agent_on
from tests.cli_run import on
from tests.index_dump import other_state
from vaultmem.errors import StateError
from vaultmem.index.state import State


@pytest.fixture
def state(vault: Path, tmp_path: Path) -> Iterator[State]:
    with other_state(tmp_path / "state"):
        yield State(str(vault))


def adopt(state: State) -> str:
    number, folder = state.new_generation()
    Path(folder, "kw").mkdir()
    Path(folder, "catalog.db").touch()
    Path(folder, "kw", "meta.json").touch()
    state.adopt(number, 0)
    return folder


def test_a_generation_counts_only_when_adopted(state: State) -> None:
    first = adopt(state)
    assert state.generation() == first
    _, second = state.new_generation()
    assert second != first
    assert state.generation() == first
    state.sweep()
    assert not os.path.exists(second)
    assert os.path.exists(first)
    third = adopt(state)
    assert state.generation() == third
    assert not os.path.exists(first)


def test_a_sweep_passes_over_what_has_got_its_name_meanwhile(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = adopt(state)
    Path(state.path("left.1.tmp")).touch()
    there = [*os.listdir(state.folder), "root.json.7.tmp"]
    monkeypatch.setattr(os, "listdir", lambda _: there)
    state.sweep()
    assert not os.path.exists(state.path("left.1.tmp"))
    assert state.generation() == first


@pytest.mark.parametrize("part", ["catalog.db", "kw/meta.json"])
def test_a_generation_needs_its_parts(state: State, part: str) -> None:
    folder = adopt(state)
    os.remove(os.path.join(folder, part))
    assert state.generation() is None


@pytest.mark.parametrize("key", ["format", "catalog", "analyzer"])
def test_another_version_is_no_index(state: State, key: str) -> None:
    adopt(state)
    manifest = Path(state.folder, "manifest.json")
    kept = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**kept, key: "another"}))
    assert state.generation() is None
    manifest.write_text(json.dumps({k: v for k, v in kept.items() if k != key}))
    assert state.generation() is None
    manifest.write_text(json.dumps({**kept, "unknown": 1}))
    assert state.generation()


def test_one_writer(state: State) -> None:
    with state.lock():
        with pytest.raises(StateError, match=str(os.getpid())), State(state.vault).lock():
            pass
        code = "import sys; from vaultmem.index.state import State\nwith State(sys.argv[1]).lock(): pass"
        ended = subprocess.run(
            [sys.executable, "-c", code, state.vault], capture_output=True, text=True, check=False
        )
        assert f"process {os.getpid()}" in ended.stderr
    with state.lock():
        pass


@pytest.mark.parametrize("name", ["lock", f"manifest.json.{os.getpid()}-{get_ident()}.tmp"])
def test_a_link_in_the_state_folder_leads_to_no_note(vault: Path, name: str) -> None:
    note = vault / "Note.md"
    note.write_text("Mine.")
    state = State(str(vault))
    os.makedirs(state.folder, mode=0o700)
    os.symlink(note, state.path(name))
    with pytest.raises((StateError, OSError)), state.lock():
        state.adopt(1, 1)
    assert note.read_text() == "Mine."


def test_all_of_it_is_for_its_owner_only(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever library makes a file, and whatever the umask is."""
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    before = os.umask(0)
    try:
        for words in (
            ["sync"],
            ["write", "The roof is red"],
            ["history"],
            ["notify"],
            ["jobs", "run", "tidy"],
        ):
            (vault / f"{words[0]}.md").write_text("A note with words of its own")
            assert on(vault, *words).code == 0, words
        with agent_on(vault, VAULTMEM_EMBEDDING_MODEL="default") as agent:
            agent.watches()
            agent.call("search", query="roof", semantic=True)
            open_ = [
                str(path)
                for path in [tmp_path / "state", *(tmp_path / "state").rglob("*")]
                if not path.is_symlink() and path.lstat().st_mode & 0o077
            ]
    finally:
        os.umask(before)
    assert not [path for path in open_ if not path.endswith(".sock")]
