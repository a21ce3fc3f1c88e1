"""Files that a checkout of Git removes are believed to be gone, however many they are; others may be on a lost
drive."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.test_vanish_guard import Dwindling
from vaultmem import Vault
from vaultmem.agent.debounce import VanishGuard
from vaultmem.errors import VaultGoneError
from vaultmem.vault import checkout

pytestmark = pytest.mark.usefixtures("without_a_model")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Sixty notes on the branch main, ten of them on the branch few."""
    folder = tmp_path / "repository"
    for number in range(60):
        note = folder / "notes" / f"{number:02}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"number {number}\n")
    for command in ("init -qb main", "add .", "commit -qm 1", "checkout -qb few"):
        git(folder, command)
    for number in range(10, 60):
        (folder / "notes" / f"{number}.md").unlink()
    for command in ("commit -qam 2", "checkout -q main"):
        git(folder, command)
    return folder


def git(folder: Path, words: str) -> None:
    settings = ("user.name=A", "user.email=a@b.c", "commit.gpgsign=false")
    who = [word for setting in settings for word in ("-c", setting)]
    subprocess.run(["git", *who, *words.split()], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("inside", ["", "notes"])
def test_a_checkout_may_remove_most_notes(repository: Path, inside: str) -> None:
    """Also several checkouts ago, and if the vault is a folder inside the checkout."""
    with Vault(str(repository / inside)) as vault:
        assert vault.sync().added == 60
        for command in ("checkout -q few", "checkout -qb more", "commit -q --allow-empty -m 3"):
            git(repository, command)
        assert vault.sync().removed == 50
        git(repository, "checkout -q main")
        assert vault.sync().added == 50


@pytest.mark.parametrize("before", ["", "checkout -q few", "rm -q --cached -r notes"])
def test_notes_that_git_did_not_remove_are_kept_as_vanished(repository: Path, before: str) -> None:
    """Tracked and untracked notes, whatever was checked out meanwhile."""
    for number in range(40):
        (repository / f"draft {number}.md").write_text(f"draft {number}\n")
    with Vault(str(repository)) as vault:
        vault.sync()
        if before:
            git(repository, before)
        for path in repository.glob("draft *.md" if "few" in before else "notes/*.md"):
            path.unlink()
        with pytest.raises(VaultGoneError, match="confirm-removals"):
            vault.sync()


def test_notes_removed_by_a_checkout_do_not_add_to_later_losses(repository: Path) -> None:
    vault = Dwindling(0)
    vault.losses = VanishGuard(str(repository))
    vault.there = {f"notes/{number:02}.md" for number in range(60)}
    vault.indexed = set(vault.there)
    git(repository, "checkout -q few")
    vault.there = {f"notes/{number:02}.md" for number in range(10)}
    vault.partly(0.0)
    assert (vault.losses.vanished, vault.indexed) == (None, vault.there)
    vault.there.remove("notes/00.md")
    vault.partly(1.0)
    assert (vault.losses.vanished, vault.indexed) == (None, vault.there)


def test_without_git_no_removal_is_attributed_to_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "checkout -q few")
    assert checkout.removed(str(repository), ["notes/59.md", "notes/00.md"]) == {"notes/59.md"}
    assert checkout.removed(str(repository.parent), ["notes/59.md"]) == set()
    monkeypatch.setenv("PATH", os.devnull)
    assert checkout.removed(str(repository), ["notes/59.md"]) == set()


def test_nothing_that_the_repository_names_is_run(repository: Path) -> None:
    """The checker of signatures is a program that the settings of the repository name."""
    signed = run(repository, "cat-file", "commit", "few").replace(
        b"\n\n", b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n", 1
    )
    commit = run(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed)
    program = repository / ".git" / "program"
    program.write_text('#!/bin/sh\ntouch "$0.was-run"\n')
    program.chmod(0o755)
    git(repository, f"config gpg.program {program}")
    git(repository, f"checkout -q {commit.decode()}")
    git(repository, "config log.showSignature true")
    assert checkout.removed(str(repository), ["notes/11.md", "notes/01.md"]) == {"notes/11.md"}
    assert not program.with_name("program.was-run").exists()


def test_what_head_has_is_not_removed_if_head_cannot_be_read(repository: Path) -> None:
    git(repository, "checkout -q few")
    tree = run(repository, "rev-parse", "HEAD:notes").decode().strip()
    (repository / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert checkout.removed(str(repository), ["notes/01.md"]) == set()


def run(folder: Path, *words: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(
        ["git", *words], cwd=folder, input=stdin, check=True, stdout=subprocess.PIPE
    ).stdout
