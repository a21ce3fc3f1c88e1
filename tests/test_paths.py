"""The folders are those of platformdirs, the vault is found as documented, and states are separate."""

import errno
import os
import stat
import sys
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from vaultmem import paths
from vaultmem.errors import StateError, VaultNotFoundError

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


def test_windows_folders_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """platformdirs asks Windows or this variable; here only the variable works."""
    monkeypatch.setenv("LOCALAPPDATA", "C:\\Users\\me\\AppData\\Local")
    on_system(monkeypatch, "win32")
    root = paths.state_root().replace("/", "\\")
    assert root == "C:\\Users\\me\\AppData\\Local\\vaultmem"


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


@pytest.mark.parametrize("mark", [".obsidian", "logseq/config.edn", ".vaultmem"])
def test_a_vault_is_found_from_below(tmp_path: Path, mark: str) -> None:
    (tmp_path / "v" / mark).mkdir(parents=True)
    (tmp_path / "v" / "a" / "b").mkdir(parents=True)
    assert paths.find_vault(str(tmp_path / "v" / "a" / "b")) == str(tmp_path / "v")
    assert paths.find_vault(str(tmp_path)) is None


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


def test_a_file_system_that_cannot_keep_names_takes_files_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some network file systems say so about any folder."""
    real = os.fsync

    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    paths.replace_private(f"{tmp_path}/tokens.json", "{}", sync=True)
    assert (tmp_path / "tokens.json").read_text() == "{}"


@pytest.mark.parametrize(
    "data",
    [b"", b"[1]", b'"text"', b'{"a": 1', b"\xff\xfe{}", b"[" * 100_000, b'{"a":' * 100_000],
    ids=["empty", "list", "text", "cut", "not UTF-8", "deep list", "deep object"],
)
def test_a_state_file_that_holds_anything_else_counts_as_missing(
    data: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    assert paths.read_json(file) == {}
    file.write_bytes(data)
    assert paths.read_json(file) == {}
    assert paths.read_json(tmp_path) == {}
    file.write_text('{"é": [1, null]}', "utf-8")
    assert paths.read_json(str(file)) == {"é": [1, None]}
