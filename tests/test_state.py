"""The state folder: its place, one generation in force, one writer, everything else swept away."""

import fcntl
import itertools
import os
import subprocess
import sys
import time
from _thread import get_ident
from collections.abc import Iterator
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from tests.agent_run import agent_on
from tests.cli_run import on, ran
from tests.index_dump import other_state
from vaultmem import paths
from vaultmem.errors import StateError, VaultNotFoundError
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


def test_a_sweep_spares_what_was_renamed(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    first = adopt(state)
    Path(state.path("left.1.tmp")).touch()
    there = [*os.listdir(state.folder), "root.json.7.tmp"]
    monkeypatch.setattr(os, "listdir", lambda _: there)
    state.sweep()
    assert not os.path.exists(state.path("left.1.tmp"))
    assert state.generation() == first


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


def test_one_that_tests_the_lock_delays(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    with state.lock():
        pass
    with open(state.path("lock"), "rb") as tests:
        fcntl.flock(tests, fcntl.LOCK_SH)
        looks = itertools.count()
        monkeypatch.setattr(time, "sleep", lambda _: tests.close() if next(looks) == 9 else None)
        with state.lock():
            assert tests.closed


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


# --- The place


HOME = os.path.expanduser("~")
GIVEN = ({}, {"XDG_STATE_HOME": "/x/state", "XDG_CONFIG_HOME": "/x/config"}, {"XDG_STATE_HOME": "relative"},
         {"XDG_STATE_HOME": " "}, {"XDG_CONFIG_HOME": ""})  # fmt: skip


def on_system(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("VAULTMEM_STATE", raising=False)
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setattr(sys, "platform", name)


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize(("system", "folders"), [("linux", Unix), ("darwin", MacOS)])
def test_folders_are_those_of_platformdirs(
    given: dict[str, str], system: str, folders: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    theirs = folders("vaultmem")
    on_system(monkeypatch, system)
    if given.get("XDG_STATE_HOME") != "relative":  # the standard says to ignore relative paths
        assert paths.state_root() == theirs.user_state_dir
    elif system == "linux":
        assert paths.state_root() == f"{HOME}/.local/state/vaultmem"
    assert paths.config_file() == os.path.join(theirs.user_config_dir, "config.yaml")


@pytest.mark.parametrize("home", ["~", "notes", "./notes"])
def test_a_relative_home_is_refused(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """State below the working directory may be inside a vault."""
    for name in ("VAULTMEM_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", home)
    for path in (paths.state_root, paths.config_file):
        with pytest.raises(StateError, match="set HOME"):
            path()


def test_ids_are_readable_unique_and_of_the_real_place(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "My Notes", tmp_path / "b" / "My Notes"
    for folder in (one, other):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(one)
    assert paths.vault_id(str(one)).startswith("my-notes-")
    assert paths.vault_id(str(one)) != paths.vault_id(str(other))
    assert (
        paths.vault_id(str(tmp_path / "link"))
        == paths.vault_id(str(one))
        == paths.vault_id(f"{one}/.")
    )
    for odd in ("/", "/\udcff", "/" + "x" * 250, "/。", "/a\nb"):
        name = paths.vault_id(odd)
        assert "/" not in name
        assert len(os.fsencode(name)) < 200


def test_who_decides_which_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("named", "variable", "above", "configured"):
        (tmp_path / name / ".obsidian").mkdir(parents=True)
    named, variable, above, configured = (
        str(tmp_path / n) for n in ("named", "variable", "above", "configured")
    )
    monkeypatch.chdir(above)
    monkeypatch.setenv("VAULTMEM_VAULT", variable)
    assert paths.choose_vault(named, configured) == named
    assert paths.choose_vault(None, configured) == variable
    monkeypatch.delenv("VAULTMEM_VAULT")
    assert paths.choose_vault(None, configured) == above
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    assert paths.choose_vault(None, configured) == configured
    assert "no vault here" in ran("list").err
    monkeypatch.chdir(tmp_path)
    assert paths.choose_vault(None, configured) == configured
    with pytest.raises(VaultNotFoundError, match=r"vaultmem setup finds .* --vault"):
        paths.choose_vault(None, None)
    with pytest.raises(VaultNotFoundError, match="does not exist"):
        paths.choose_vault(str(tmp_path / "gone"), None)
    (tmp_path / "file").touch()
    with pytest.raises(VaultNotFoundError, match="not a folder"):
        paths.choose_vault(str(tmp_path / "file"), None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_state_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """Its owner could redirect what is written there onto a note."""
    folder = tmp_path / "state" / "vault"
    folder.mkdir(parents=True)
    os.chown(folder, 65534, 65534)
    with pytest.raises(StateError, match="belongs to another user"):
        paths.make_private(str(folder))


@pytest.mark.parametrize(
    "data",
    [b"", b"[1]", b'"text"', b'{"a": 1', b"\xff\xfe{}", b"[" * 100_000, b'{"a":' * 100_000],
    ids=["empty", "list", "text", "cut", "not UTF-8", "deep list", "deep object"],
)
def test_a_state_file_of_anything_else_counts_as_missing(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    assert paths.read_json(file) == {}
    file.write_bytes(data)
    assert paths.read_json(file) == {}
    assert paths.read_json(tmp_path) == {}
    file.write_text('{"é": [1, null]}', "utf-8")
    assert paths.read_json(str(file)) == {"é": [1, None]}


def test_windows_folders_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """platformdirs asks Windows or this variable; here only the variable works."""
    monkeypatch.setenv("LOCALAPPDATA", "C:\\Users\\me\\AppData\\Local")
    on_system(monkeypatch, "win32")
    root = paths.state_root().replace("/", "\\")
    assert root == "C:\\Users\\me\\AppData\\Local\\vaultmem"
