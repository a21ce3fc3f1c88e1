"""Where state and settings are, compared with platformdirs; which vault is meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from vaultmem import paths
from vaultmem.errors import VaultNotFoundError

SYSTEMS = {"linux": Unix, "darwin": MacOS}
ENVIRONMENTS = [
    {},
    {"XDG_STATE_HOME": "/data/state", "XDG_CONFIG_HOME": "/data/config"},
    {"XDG_STATE_HOME": "", "XDG_CONFIG_HOME": " "},
]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["bare", "set", "blank"])
def test_folders_are_those_of_platformdirs(
    system: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VAULTMEM_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    theirs = SYSTEMS[system]("vaultmem", appauthor=False)
    assert paths.state_root(platform=system) == theirs.user_state_dir
    assert paths.config_file(platform=system) == f"{theirs.user_config_dir}/config.yaml"


def test_the_state_can_be_put_elsewhere() -> None:
    assert paths.state_root({"VAULTMEM_STATE": "/elsewhere"}) == "/elsewhere"


def test_each_vault_has_a_state_of_its_own_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a" / "My notes").mkdir(parents=True)
    (tmp_path / "b" / "My notes").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "My notes")
    first, second = (str(tmp_path / name / "My notes") for name in "ab")
    assert paths.vault_id(first) != paths.vault_id(second)
    assert paths.vault_id(str(tmp_path / "link")) == paths.vault_id(first)
    assert paths.vault_id(first).startswith("my-notes-")


@pytest.mark.parametrize("mark", paths.VAULT_MARKS)
def test_the_nearest_vault_above_is_found(mark: str, tmp_path: Path) -> None:
    made = tmp_path / "vault" / mark
    made.parent.mkdir(parents=True)
    made.touch()
    inner = tmp_path / "vault" / "a" / "b"
    inner.mkdir(parents=True)
    assert paths.find_vault(str(inner)) == str(tmp_path / "vault")


def test_what_is_named_wins_over_the_environment_and_that_over_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("named", "told", "here/.obsidian", "configured"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    named, told, here, configured = (
        str(tmp_path / n) for n in ("named", "told", "here", "configured")
    )
    assert paths.choose_vault(None, configured) == here
    monkeypatch.setenv("VAULTMEM_VAULT", told)
    assert paths.choose_vault(None, configured) == told
    assert paths.choose_vault(named, configured) == named


def test_no_vault_and_no_folder_are_errors_that_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VaultNotFoundError, match="--vault FOLDER"):
        paths.choose_vault(None, "")
    with pytest.raises(VaultNotFoundError, match="does not exist"):
        paths.choose_vault(str(tmp_path / "gone"), None)
    (tmp_path / "file").touch()
    with pytest.raises(VaultNotFoundError, match="not a folder"):
        paths.choose_vault(str(tmp_path / "file"), None)


def test_the_state_is_for_its_owner_only(tmp_path: Path) -> None:
    folder = paths.make_private(str(tmp_path / "state"))
    assert os.stat(folder).st_mode & 0o777 == 0o700
