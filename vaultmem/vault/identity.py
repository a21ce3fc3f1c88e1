"""Whether the folder of a vault still is that vault, and not what lies below a drive that is not mounted.

<state>/root.json           device and inode of the folder, and what the marker in it says
<memory folder>/.vault-id   the marker; it moves with the vault, so that one that was restored, synced or mounted
                            anew is known, though its folder is another one
"""

from __future__ import annotations

import contextlib
import json
import os

from vaultmem.errors import VaultGoneError
from vaultmem.light import NamedTuple
from vaultmem.paths import replace_private, state_folder, vault_id
from vaultmem.vault.files import Root
from vaultmem.vault.walk import identity

MARKER, RECORD = ".vault-id", "root.json"
_LONGEST = 100  # letters of a marker


class _Known(NamedTuple):
    """The vault as it was seen last."""

    device: int
    inode: int
    marker: str  # the path of its marker in the vault
    id: str  # what stands there; "" where there is none


def check(vault: str) -> None:
    """Raise VaultGoneError when something else is in the place of the vault that was here. A vault that was never
    seen before may be anything."""
    known = _read_marker(vault)
    if known is None:
        return
    now = identity(vault)
    if now == (known.device, known.inode):
        return
    if now is not None and known.id and id_in(vault, known.marker) == known.id:
        return
    what = "not there or empty" if now is None else "another folder than the vault that was here"
    raise VaultGoneError(
        f"{vault} is {what}: nothing is written, and nothing of it is taken to be removed. If its drive is not "
        "mounted, mount it; if this is the vault, run vaultmem sync --confirm-removals"
    )


def remember(vault: str, memory_folder: str) -> None:
    """What is there now is the vault. Where it has a memory folder, that gets the marker."""
    now = identity(vault)
    if now is None:
        return
    marker = f"{memory_folder}/{MARKER}"
    seen = _Known(*now, marker, id_in(vault, marker) or _make_marker(vault, memory_folder))
    if seen != _read_marker(vault):
        _keep(vault, seen)


def mark(vault: str, memory_folder: str) -> None:
    """After a write: remember the vault unless its marker is known already."""
    known = _read_marker(vault)
    if known is None or not known.id:
        remember(vault, memory_folder)


def shared_name(vault: str, memory_folder: str) -> str:
    """What the vault is called on all machines: by its marker; where it has none yet, a name of this machine alone."""
    return id_in(vault, f"{memory_folder}/{MARKER}") or vault_id(vault)


def _read_marker(vault: str) -> _Known | None:
    try:
        with open(f"{state_folder(vault)}/{RECORD}", encoding="utf-8") as file:
            record = json.load(file)
        return _Known(
            int(record["device"]), int(record["inode"]), str(record["marker"]), str(record["id"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(vault: str, seen: _Known) -> None:
    with contextlib.suppress(OSError):  # a full disk stops no writer; the next one remembers it
        replace_private(f"{state_folder(vault)}/{RECORD}", json.dumps(seen._asdict()))


def id_in(vault: str, marker: str) -> str:
    """What the marker at this path of a vault says; "" where there is none."""
    try:
        with open(f"{vault}/{marker}", encoding="ascii") as file:
            return file.read(_LONGEST).strip()
    except (OSError, ValueError):
        return ""


def _make_marker(vault: str, memory_folder: str) -> str:
    """A new marker; "" where none can be written."""
    folder = Root(vault).inside(memory_folder)
    if folder is None or not os.path.isdir(folder):
        return ""
    new = os.urandom(16).hex()
    try:
        handle = os.open(f"{folder}/{MARKER}", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        with open(handle, "w", encoding="ascii") as file:
            file.write(f"{new}\n")
    except OSError:
        return ""
    return new
