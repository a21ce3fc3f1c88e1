"""Where in the vault something may be written: never outside it, through no link that leads out, and nowhere while
another folder is in its place."""

from __future__ import annotations

import contextlib
import os

from vaultmem.errors import NoteNotFoundError, VaultmemError
from vaultmem.store import identity
from vaultmem.store.journal import fsync_folder
from vaultmem.store.vault import Root, on_disk


def existing(root: str, path: str) -> str:
    """The real place of a note that must be there."""
    identity.check(root)
    full = Root(root).inside(path)
    if full is not None and os.path.isfile(full):
        return full
    if full is None and on_disk(root, path) is not None:
        raise VaultmemError(f"{path} leads out of the vault; nothing was written")
    raise NoteNotFoundError(f"there is no note {path}")


def refuse_links(root: str, path: str) -> None:
    """Raise VaultmemError when a part of the path is a link: memories are where their path says."""
    for at in range(path.count("/") + 1):
        part = "/".join(path.split("/")[: at + 1])
        if os.path.islink(f"{root}/{part}"):
            raise VaultmemError(
                f"{part} is a link, and memories are only written to real folders and files; nothing was written"
            )


def new_place(root: str, path: str) -> str:
    """The place of a note that is to come; makes its folders, inside the vault only."""
    parts = path.split("/")
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise VaultmemError(f"{path!r} is no path in a vault")
    identity.check(root)
    vault = Root(root)
    folder = vault.root
    for depth in range(1, len(parts)):
        inside = vault.inside("/".join(parts[:depth]))
        if inside is None:
            made = f"{folder}/{parts[depth - 1]}"
            if os.path.lexists(made):
                raise VaultmemError(f"{path} leads out of the vault; nothing was written")
            with contextlib.suppress(FileExistsError):
                os.mkdir(made)
            fsync_folder(folder)
            inside = made
        folder = inside
    return f"{folder}/{parts[-1]}"
