"""A copy of what cannot be rebuilt from a vault's notes: its history, ledger, answers and queued turns, and the tokens.

    DIR/vaultmem-backup.json   of which vault, when, and the SHA-256 of each file
       /state/                 from the state folder: ledger.db, history.bundle, batches/, turns/, …
       /vault/                 from the memory folder: what machines tell each other
       /shared/                of all vaults of this user: tokens.json (hashes, no token), config.yaml

It contains neither the index, which is rebuilt, nor the notes, which any backup program copies.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from vaultmem import now, paths
from vaultmem.errors import LockedError, StateError, UsageError
from vaultmem.history.repository import Repository
from vaultmem.index.state import State
from vaultmem.ledger.reads import HERE
from vaultmem.light import NamedTuple
from vaultmem.vault import identity
from vaultmem.vault.identity import MARKER

MANIFEST, FORMAT = "vaultmem-backup.json", 1
LEDGER, HISTORY, BUNDLE = "ledger.db", "history.git", "history.bundle"
STATE_FILES = ("told", "pending.shown", "pending.dues", "batches/*.done", "turns/*.json")
VAULT_FILES = (MARKER, "sync/*.md")
SHARED_FILES = ("tokens.json", "config.yaml")
_ALL_FILES = (
    *(f"state/{name}" for name in (*STATE_FILES, LEDGER, BUNDLE)), *(f"vault/{name}" for name in VAULT_FILES),
    *(f"shared/{name}" for name in SHARED_FILES),
)  # fmt: skip


class Backup(NamedTuple):
    """The manifest of a backup."""

    folder: str
    vault: str  # where the vault was
    id: str  # its marker; "" if it has none
    at: float
    files: dict[str, str]  # path in the folder: SHA-256

    @property
    def names(self) -> list[str]:
        """The files, without their hashes."""
        return sorted(self.files)


def create(vault: str, memory_folder: str, target: str, *, dry_run: bool = False) -> Backup:
    """Copy into a new folder, completely or not at all, and verify that it can be restored. Raises UsageError,
    StateError."""
    target = os.path.abspath(os.path.expanduser(target))
    if os.path.lexists(target) and not (os.path.isdir(target) and not os.listdir(target)):
        raise UsageError(f"{target} is not empty; name a new folder, such as backup-2026-11-24")
    if _is_below(target, vault) or _is_below(target, paths.state_root()):
        raise UsageError(f"{target} is inside what it would be the backup of; name another folder")
    state = State(vault)
    parent = os.path.dirname(target)
    with _as_state_error(target), _scratch(None if dry_run else parent) as scratch:
        _collect(state, f"{vault}/{memory_folder}", scratch)
        identity.check(vault)
        made = Backup(
            target, vault, identity.id_in(vault, f"{memory_folder}/{MARKER}"), now.seconds(), _hashes(scratch)
        )  # fmt: skip
        head = {"format": FORMAT, **made._asdict()}
        del head["folder"]
        _write(f"{scratch}/{MANIFEST}", json.dumps(head, indent=1).encode())
        read(scratch, prove=True)
        if not dry_run:
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(target)
            os.rename(scratch, target)
    return made


def read(folder: str, *, prove: bool = False) -> Backup:
    """The manifest of a backup, after comparing its files with their hashes; `prove` also opens and reads them.
    Raises StateError."""
    folder = os.path.abspath(os.path.expanduser(folder))
    try:
        with open(f"{folder}/{MANIFEST}", encoding="utf-8") as file:
            head = json.load(file)
        if head.pop("format") != FORMAT:
            raise StateError(f"{folder} was made by another version of vaultmem")
        backup, hashes = Backup(folder, **head), _hashes(folder)
        time.gmtime(backup.at)  # as join(), raises for other values
        "".join((backup.vault, backup.id, *backup.files, *backup.files.values()))
    except (OSError, ArithmeticError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(
            f"{folder} is not a backup of vaultmem: {MANIFEST} cannot be read"
        ) from error
    files = {name for pattern in _ALL_FILES for name in glob.glob(pattern, root_dir=folder)}
    if odd := sorted(hashes.keys() - files):  # a repository in it could make git run anything
        raise StateError(
            f"{folder} holds {odd[0]}, which no backup of vaultmem has; use another one"
        )
    damaged = sorted({*hashes.items()} ^ {*backup.files.items()})
    if damaged:
        raise StateError(f"{folder} is damaged: {damaged[0][0]} is not what was backed up")
    if prove:
        with _scratch() as scratch:
            _unpack_state(backup, scratch)
    return backup


def restore(
    vault: str, memory_folder: str, folder: str, *, dry_run: bool = False
) -> tuple[Backup, list[str]]:
    """Put a backup in place: the state, and missing files of the rest. Returns the paths of what was moved aside. No
    file of the vault is replaced. Raises StateError for another vault's backup, and while an agent runs."""
    backup = read(folder)
    identity.check(vault)
    vault_id = identity.id_in(vault, f"{memory_folder}/{MARKER}")
    if backup.id and vault_id and not identity.is_same(backup.id, vault_id):
        raise StateError(
            f"{backup.folder} is the backup of another vault ({backup.vault}); name its vault with --vault"
        )
    state = State(vault)
    with _as_state_error(state.folder), _lock(state), _scratch(state.folder) as scratch:
        _unpack_state(backup, scratch)
        aside = [
            name for name in _replaced_parts(state.folder) if os.path.lexists(state.path(name))
        ]
        if dry_run:
            return backup, [state.path(name) for name in aside]
        moved = _move_aside(state, aside)
        for name in sorted(os.listdir(scratch)):
            os.rename(f"{scratch}/{name}", state.path(name))
        _fill(f"{backup.folder}/vault", f"{vault}/{memory_folder}", vault)
        for name, target in _shared_files().items():
            if not os.path.lexists(target):
                _copy(f"{backup.folder}/shared/{name}", target)
    return backup, moved


# --- what is copied


def _collect(state: State, memory_folder: str, scratch: str) -> None:
    # Batches waiting for the history are copied first: in both they count once, in neither they would be lost.
    _copy_all(state.folder, STATE_FILES, f"{scratch}/state")
    _copy_all(memory_folder, VAULT_FILES, f"{scratch}/vault")
    for name, source in _shared_files().items():
        _copy(source, f"{scratch}/shared/{name}")
    paths.make_private(f"{scratch}/state")
    if os.path.exists(ledger := state.path(LEDGER)):
        copy = paths.keep_private(f"{scratch}/state/{LEDGER}")
        with closing(sqlite3.connect(ledger)) as live, closing(sqlite3.connect(copy)) as copied:
            live.backup(copied)
    history = Repository(state.path(HISTORY))
    if history.tip():
        bundle = f"{scratch}/state/{BUNDLE}"
        history.run("bundle", "create", "--quiet", bundle, "--all")
        os.chmod(bundle, 0o600)


def _shared_files() -> dict[str, str]:
    places = f"{paths.state_root()}/tokens.json", paths.config_file()
    return dict(zip(SHARED_FILES, places, strict=True))


def _copy_all(source: str, patterns: tuple[str, ...], target: str) -> None:
    for pattern in patterns:
        for name in sorted(glob.glob(pattern, root_dir=source)):
            _copy(os.path.join(source, name), os.path.join(target, name))


def _copy(source: str, target: str) -> None:
    try:
        handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    with open(handle, "rb") as file:
        _write(target, file.read())


def _write(path: str, data: bytes) -> None:
    paths.make_private(os.path.dirname(path))
    paths.replace_private(path, data, sync=True)


# --- what is put back


def _unpack_state(backup: Backup, target: str) -> None:
    """The state as it was, in an empty folder. Raises StateError if a part of it cannot be used."""
    source = f"{backup.folder}/state"
    for name in (
        member.removeprefix("state/") for member in backup.names if member.startswith("state/")
    ):
        if name != BUNDLE:
            _copy(f"{source}/{name}", f"{target}/{name}")
    if os.path.exists(ledger := f"{target}/{LEDGER}"):
        with closing(sqlite3.connect(ledger)) as db:
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise StateError(f"{source}/{LEDGER} is damaged")
            _rename_machine(db)
    if os.path.exists(bundle := f"{source}/{BUNDLE}"):
        history = Repository(f"{target}/{HISTORY}")
        history.ensure()
        history.run("fetch", "--quiet", bundle, "+refs/*:refs/*")
        if not history.tip() or history.damage():
            raise StateError(f"{bundle} is damaged")


def _rename_machine(db: sqlite3.Connection) -> None:
    """Leave the name to the machine that was backed up, which may still exist: two with one name would not notice
    each other. Its reads are kept as reads of this machine."""
    for (name,) in db.execute("SELECT name FROM machine").fetchall():
        db.execute("UPDATE OR REPLACE counted SET machine = ? WHERE machine = ?", (name, HERE))
    db.execute("DELETE FROM machine")
    db.commit()


def _replaced_parts(folder: str) -> list[str]:
    names = {pattern.partition("/")[0] for pattern in STATE_FILES}
    # These two are derived from the others, and rebuilt.
    return sorted(
        {*names, LEDGER, HISTORY, "memories.json", "pending.json"} & {*os.listdir(folder)}
    )


def _move_aside(state: State, names: list[str]) -> list[str]:
    if not names:
        return []
    stamp = int(now.seconds())
    folder = paths.make_private(
        tempfile.mkdtemp(prefix=f"before-restore-{stamp}-", dir=state.folder)
    )
    for name in names:
        os.rename(state.path(name), f"{folder}/{name}")
    return [f"{folder}/{name}" for name in names]


def _fill(source: str, target: str, vault: str) -> None:
    """Restore missing files of the vault. Existing ones stay, and no link is followed out of it."""
    for place, _, names in os.walk(source):
        folder = os.path.normpath(os.path.join(target, os.path.relpath(place, source)))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not os.path.lexists(path) and _is_below(path, vault):
                os.makedirs(folder, exist_ok=True)
                with open(f"{place}/{name}", "rb") as file, open(path, "xb") as copy:
                    copy.write(file.read())


# --- small parts


@contextmanager
def _scratch(parent: str | None = None) -> Iterator[str]:
    if parent is not None:
        os.makedirs(parent, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=".vaultmem-", dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _lock(state: State) -> Iterator[None]:
    try:
        with state.lock():
            yield
    except LockedError as error:
        raise StateError(f"{error}; if it is the agent: vaultmem stop") from error


@contextmanager
def _as_state_error(place: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StateError(f"{place} cannot be used: {why}; nothing was changed there") from error


def _hashes(folder: str) -> dict[str, str]:
    """The hashes of a backup's files. Raises OSError for a link, which would lead elsewhere; waits for no pipe."""
    hashes = {}
    for place, folders, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in (*names, *folders)):
            if os.path.isdir(path) and not os.path.islink(path):
                continue
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            with open(os.open(path, flags), "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            hashes[os.path.relpath(path, folder)] = digest
    hashes.pop(MANIFEST, None)
    return hashes


def _is_below(path: str, folder: str) -> bool:
    real, above = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([real, above]) == above
