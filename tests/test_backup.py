"""vaultmem backup: a copy is complete, private and sufficient; a restore replaces nothing for good."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli_run import on, one_line, tree_hash
from tests.conftest import Write, disk_full, fill
from vaultmem import paths
from vaultmem.index.state import State
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.operations import backup
from vaultmem.synclog.log_folder import machine_name
from vaultmem_server.tokens import READ, TokenStore


@pytest.fixture
def lived(vault: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault in which something was written, with its own state."""
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    write("House.md", "The boiler is in the cellar.")
    for text in ("The boiler is serviced in May", "Anne prefers trains"):
        assert on(vault, "write", text).code == 0
    assert on(vault, "history", "--json").data["count"] == 2
    return vault


def back_up(vault: Path, target: Path) -> Path:
    ended = on(vault, "backup", str(target))
    assert ended.code == 0, ended.err
    return target


def ledger_of(vault: Path) -> Ledger:
    return Ledger(State(str(vault)).path("ledger.db"))


def history_of(vault: Path) -> list[str]:
    entries = on(vault, "history", "--json").data["history"]
    return [entry["commit"] for entry in entries]


def test_a_machine_that_is_lost_is_set_up_again(lived: Path, tmp_path: Path) -> None:
    """The vault in another place, with empty state: the history continues, and earlier changes can be undone."""
    token = TokenStore().add("laptop", READ)
    before = history_of(lived)
    (id_,) = (one["id"] for one in on(lived, "list", "--json").data["memories"][:1])
    count = on(lived, "read", id_, "--json").data["access_count"]
    name = machine_name(ledger_of(lived))
    notes = tree_hash(lived)
    saved = back_up(lived, tmp_path / "saved")
    assert tree_hash(lived) == notes
    shutil.rmtree(paths.state_root())
    moved = tmp_path / "elsewhere"
    lived.rename(moved)
    assert on(moved, "backup", str(saved), "--restore").code == 0
    assert history_of(moved) == before
    assert machine_name(ledger_of(moved)) != name, "the other one may live on"
    assert on(moved, "read", id_, "--json").data["access_count"] == count + 1
    assert {share.machine for share in reads.shares(ledger_of(moved))} == {name, reads.HERE}
    assert TokenStore().holder(token)
    undone = on(moved, "undo", "--last")
    assert undone.code == 0, undone.err
    assert not list(moved.glob("vaultmem/inbox/Anne*"))


def test_nobody_else_can_read_it_and_no_token_is_in_it(lived: Path, tmp_path: Path) -> None:
    token = TokenStore().add("laptop", READ)
    saved = back_up(lived, tmp_path / "saved")
    found = [saved, *saved.rglob("*")]
    assert {one.name for one in found} >= set(
        "ledger.db history.bundle tokens.json .vault-id".split()
    )
    for one in found:
        assert one.stat().st_mode & 0o777 == (0o700 if one.is_dir() else 0o600), one
        assert one.is_dir() or token.encode() not in one.read_bytes()


def test_a_damaged_backup_is_refused(lived: Path, tmp_path: Path) -> None:
    saved = back_up(lived, tmp_path / "saved")
    state = tree_hash(Path(paths.state_folder(str(lived))))
    for file in sorted(one for one in saved.rglob("*") if one.is_file()):
        whole = file.read_bytes()
        for damaged in (whole[:-1], b"x" + whole[1:], None):
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            for how in ("--verify", "--restore"):
                ended = on(lived, "backup", str(saved), how)
                assert ended.code == 1, file
                assert str(saved) in one_line(ended)
            file.write_bytes(whole)
    file.unlink()
    file.symlink_to("/etc/hostname")
    assert on(lived, "backup", str(saved), "--verify").code == 1
    assert tree_hash(Path(paths.state_folder(str(lived)))) == state


@pytest.mark.parametrize("folder", ["vault", "shared", "vault/sync"])
def test_no_folder_of_a_backup_leads_out_of_it(lived: Path, tmp_path: Path, folder: str) -> None:
    """Else the files of another folder would come into the vault, from where they are synced."""
    saved, outside = back_up(lived, tmp_path / "saved"), tmp_path / "outside"
    fill(outside, {"id_rsa": "secret", "config.yaml": "notify: {method: none}\n"})
    shutil.rmtree(saved / folder, ignore_errors=True)
    (saved / folder).symlink_to(outside)
    manifest = saved / backup.MANIFEST
    files = json.loads(manifest.read_text())["files"]
    others = {name: value for name, value in files.items() if not name.startswith(f"{folder}/")}
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "files": others}))
    ended = on(lived, "backup", str(saved), "--restore")
    assert not list(lived.rglob("id_rsa"))
    assert not os.path.exists(paths.config_file())
    assert (ended.code, str(saved) in one_line(ended)) == (1, True)


def test_a_backup_that_somebody_else_made_runs_nothing(lived: Path, tmp_path: Path) -> None:
    """A repository in it would be taken for ours, and Git runs commands that a repository's settings name."""
    saved, ran_it = back_up(lived, tmp_path / "saved"), tmp_path / "ran"
    planted, other = saved / "state" / "history.git", tmp_path / "other.git"
    for one in (planted, other):
        git("init", "-q", "--bare", "--template=", str(one))
    git("-C", str(planted), "fetch", "-q", str(saved / "state/history.bundle"), "+refs/*:refs/*")
    git("-C", str(planted), "config", "core.alternateRefsCommand", f"touch {ran_it}")
    fill(planted, {"objects/info/alternates": f"{other}/objects\n"})
    manifest = saved / backup.MANIFEST
    said = {**json.loads(manifest.read_text()), "files": backup._hashes(str(saved))}
    manifest.write_text(json.dumps(said))
    for how in ("--verify", "--restore"):
        ended = on(lived, "backup", str(saved), how)
        assert (ended.code, "which no backup of vaultmem has" in one_line(ended)) == (1, True)
    assert not ran_it.exists()
    assert len(history_of(lived)) == 2


def test_an_odd_manifest_is_no_backup_and_a_pipe_stops_nobody(lived: Path, tmp_path: Path) -> None:
    manifest = back_up(lived, tmp_path / "saved") / backup.MANIFEST
    text, saved = manifest.read_text(), str(manifest.parent)
    for key, value in (
        ("files", []), ("files", {"state/told": [1]}), ("at", "x"), ("at", 1e300), ("id", 5)
    ):  # fmt: skip
        manifest.write_text(json.dumps({**json.loads(text), key: value}))
        for how in ("--verify", "--restore"):
            assert "is not a backup of vaultmem" in one_line(on(lived, "backup", saved, how))
    manifest.write_text(text)
    os.mkfifo(manifest.parent / "state" / "pipe")
    assert "no backup of vaultmem has" in one_line(on(lived, "backup", saved, "--verify"))


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


def test_restoring_waits_for_no_agent_and_takes_no_other_vault(lived: Path, tmp_path: Path) -> None:
    saved = back_up(lived, tmp_path / "saved")
    with State(str(lived)).lock():
        ended = on(lived, "backup", str(saved), "--restore")
    assert "vaultmem stop" in one_line(ended)
    other = tmp_path / "other"
    (other / ".obsidian").mkdir(parents=True)
    assert on(other, "write", "Nothing in common").code == 0
    assert "another vault" in one_line(on(other, "backup", str(saved), "--restore"))


def test_a_file_of_the_vault_is_never_replaced(lived: Path, tmp_path: Path) -> None:
    """Not even through a link that leads out of it."""
    page = "sync/laptop.md"
    fill(lived / "vaultmem", {page: "of then"})
    saved = back_up(lived, tmp_path / "saved")
    (lived / "vaultmem" / page).write_text("of now")
    assert on(lived, "backup", str(saved), "--restore").code == 0
    assert (lived / "vaultmem" / page).read_text() == "of now"
    outside = tmp_path / "outside"
    (lived / "vaultmem").rename(outside)
    (outside / page).unlink()
    (lived / "vaultmem").symlink_to(outside)
    on(lived, "backup", str(saved), "--restore")
    assert not (outside / page).exists()


def test_an_interrupted_restore_is_repeated(
    lived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever step is the last: nothing is lost, and the next restore is complete."""
    saved = back_up(lived, tmp_path / "saved")
    before, rename = history_of(lived), os.rename
    for nth in range(1, 9):
        calls: list[str] = []

        def cut_off(source: str, target: str, nth: int = nth, calls: list[str] = calls) -> None:
            calls.append(source)
            if len(calls) == nth:
                raise OSError(28, "No space left on device")
            rename(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(backup.os, "rename", cut_off)
            first = on(lived, "backup", str(saved), "--restore")
        assert first.code == (len(calls) >= nth)
        assert on(lived, "backup", str(saved), "--restore").code == 0
        assert history_of(lived) == before


def test_a_backup_is_there_as_a_whole_or_not_at_all(
    lived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "saved"
    ended = on(lived, "backup", str(target), "--dry-run")
    assert (ended.code, target.exists()) == (0, False)

    monkeypatch.setattr(backup.os, "fsync", disk_full)
    assert "No space" in one_line(on(lived, "backup", str(target)))
    assert not target.exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".vaultmem-")]
    monkeypatch.undo()
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    back_up(lived, target)
    assert "not empty" in one_line(on(lived, "backup", str(target)))
    assert "inside" in one_line(on(lived, "backup", str(lived / "saved")))
