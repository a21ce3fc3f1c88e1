"""Checks that the folder of a vault is still that vault, and not the mount point of an unmounted drive.

<state>/root.json           device and inode of the folder, and what the marker in it says; by these the state follows
                            a folder that was renamed
<memory folder>/.vault-id   the marker; it moves with the vault, so that one that was restored, synced or mounted
                            anew is known, though its folder is another one

Two machines that open one vault before it is synced each create a marker. When Git merges these, both ids count from
then on, one per line and in the same order on all machines, so that nothing is left to merge.
"""

from __future__ import annotations

import contextlib
import json
import os

from vaultmem.errors import StateError, VaultGoneError, VaultmemError
from vaultmem.light import NamedTuple
from vaultmem.paths import read_json, replace_private, state_folder, vault_id
from vaultmem.text.values import lazy
from vaultmem.vault.files import Root, reason_of
from vaultmem.vault.walk import identity

MARKER, RECORD, MANIFEST = ".vault-id", "root.json", "manifest.json"
_LONGEST = 4_000  # characters of a marker
_ID = lazy(r"[0-9a-f]{32}")


class _Known(NamedTuple):
    """The vault as it was last seen."""

    device: int
    inode: int
    marker: str  # path of its marker in the vault
    id: str  # its contents, see id_in


def check(vault: str) -> None:
    """Raise VaultGoneError when something else is in place of the known vault. A vault that is new may be any
    folder."""
    marker = _read_marker(vault)
    if marker is None:
        return
    now = identity(vault)
    if now == (marker.device, marker.inode):
        return
    if now is not None and is_same(marker.id, id_in(vault, marker.marker)):
        return
    what = "missing or empty" if now is None else "not the folder that was the vault before"
    raise VaultGoneError(
        f"{vault} is {what}: nothing is written, and no note counts as removed. If its drive is not "
        "mounted, mount it; if this is the vault, run vaultmem sync --confirm-removals"
    )


def has_other_marker(vault: str) -> bool:
    """Whether the marker of another vault is where that of the known vault was."""
    known = _read_marker(vault)
    there = id_in(vault, known.marker) if known and known.id else ""
    return known is not None and bool(there) and not is_same(known.id, there)


def follow(vault: str) -> str:
    """Move the state along when a vault's folder was renamed: it has no state at its new path and is gone from the
    old one, which is returned. Copy the state when the folder was copied to another place and is gone from the old one,
    which may be a drive that comes back. A folder reachable by two paths has two states. Raises StateError if the state
    stays behind, as on a full disk: without it the history and all decisions would seem to be gone."""
    state_path, now = state_folder(vault), identity(vault)
    root, moved = os.path.dirname(state_path), list[str]()
    if now is None or os.path.exists(f"{state_path}/{RECORD}") or not os.path.isdir(root):
        return ""
    try:
        names = (name for name in os.listdir(root) if not name.startswith("."))  # a copy cut off
        for state in (os.path.join(root, name) for name in names):
            record, path = _read_record(state), _path_of(state)
            if record is None or not is_same(record.id, id_in(vault, record.marker)):
                continue
            if (record.device, record.inode) == now and identity(path) != now:
                _put(state, vault)
                return path
            if path and not os.path.exists(path):
                moved.append(state)
        if moved:
            newest = max(moved, key=lambda state: os.stat(f"{state}/{RECORD}").st_mtime)
            _copy(newest, vault)
    except FileNotFoundError:
        pass  # another process was faster
    except OSError as error:
        raise StateError(
            f"{vault} was moved, and its state, with the history, cannot be moved along to {state_path} "
            f"({reason_of(error)}): free some space, or see that you may write there"
        ) from error
    return ""


def _copy(state: str, vault: str) -> None:
    """Copy a state to that of this vault."""
    from shutil import Error, copytree, rmtree  # few ever need it

    state_path = state_folder(vault)
    copy = f"{os.path.dirname(state_path)}/.{os.path.basename(state_path)}.{os.getpid()}"
    try:
        copytree(state, copy)
        _put(copy, vault)
    except Error as error:  # of several files: the first problem
        raise OSError(0, error.args[0][0][2]) from error
    finally:
        rmtree(copy, ignore_errors=True)


def _put(state: str, vault: str) -> None:
    """Rename a state to that of this vault, unless another process has done so meanwhile; what an agent that still ran
    wrote to the new path moves inside, in place of what one wrote there when the vault was last at that path."""
    state_path = state_folder(vault)
    if os.path.exists(f"{state_path}/{RECORD}"):
        return
    if os.path.isdir(state_path):
        from shutil import rmtree  # few ever need it

        inside = f"{state}/{os.path.basename(state_path)}"
        rmtree(inside, ignore_errors=True)
        os.rename(state_path, inside)
    os.rename(state, state_path)
    manifest = f"{state_path}/{MANIFEST}"
    if content := read_json(manifest):
        # On a full disk it stays; a later copy may then take this state, too.
        with contextlib.suppress(OSError):
            replace_private(manifest, json.dumps({**content, "vault": vault}), sync=True)


def _path_of(state: str) -> str:
    """The former path of a state folder's vault; "" if unknown."""
    return str(read_json(f"{state}/{MANIFEST}").get("vault", ""))


def remember(vault: str, memory_folder: str, looked_at: tuple[int, int] | None = None) -> None:
    """Record the current folder as the vault, and write the marker into its memory folder, if there is one. Another
    one may have taken the place of the folder that was looked at."""
    now = identity(vault)
    if now is None or now != (looked_at or now):
        return
    marker = f"{memory_folder}/{MARKER}"
    ids = id_in(vault, marker)
    if " " in ids:
        _unite(vault, marker)
    seen = _Known(*now, marker, ids or _make_marker(vault, memory_folder))
    if seen != _read_marker(vault):
        with contextlib.suppress(OSError):  # a full disk stops no writer; the next one records it
            replace_private(f"{state_folder(vault)}/{RECORD}", json.dumps(seen._asdict()))


def mark(vault: str, memory_folder: str) -> None:
    """Record the vault after a write, unless its marker is already known."""
    marker = _read_marker(vault)
    if marker is None or not marker.id:
        remember(vault, memory_folder)


def shared_name(vault: str, memory_folder: str) -> str:
    """The id of the vault on all machines, from its marker; without a marker, an id for this machine only."""
    return id_in(vault, f"{memory_folder}/{MARKER}").partition(" ")[0] or vault_id(vault)


def is_same(one: str, other: str) -> bool:
    """Whether two markers have an id in common, see id_in."""
    return not {*one.split()}.isdisjoint(other.split())


def _read_marker(vault: str) -> _Known | None:
    return _read_record(state_folder(vault))


def _read_record(folder: str) -> _Known | None:
    record = read_json(f"{folder}/{RECORD}")
    try:
        return _Known(
            int(record["device"]), int(record["inode"]), str(record["marker"]), str(record["id"])
        )
    except (ValueError, KeyError, TypeError):
        return None


def id_in(vault: str, marker: str) -> str:
    """The ids in the marker at a path of a vault, usually one, separated by spaces; "" if there is none."""
    try:
        text = (Root(vault).read(marker) or b"")[:_LONGEST].decode("ascii")
    except ValueError:
        return ""
    return " ".join(_ids(text) or text.split())


def _ids(text: str) -> list[str]:
    return sorted({*filter(_ID.fullmatch, text.split())})


def _unite(vault: str, marker: str) -> None:
    """Rewrite the marker with nothing but its ids."""
    from vaultmem.vault import write  # rarely needed

    def united(data: bytes) -> bytes:
        return "".join(f"{id_}\n" for id_ in _ids(data.decode("ascii"))).encode()

    with contextlib.suppress(VaultmemError, ValueError):  # read-only: the marker stays as it is
        write.change(vault, marker, united)


def _make_marker(vault: str, memory_folder: str) -> str:
    """Create a marker. Returns its path in the vault; "" if it cannot be written."""
    folder = Root(vault).inside(memory_folder)
    if folder is None or not os.path.isdir(folder):
        return ""
    new = os.urandom(16).hex()
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK  # a fifo is not a marker
        handle = os.open(f"{folder}/{MARKER}", flags, 0o644)
        with open(handle, "w", encoding="ascii") as file:
            file.write(f"{new}\n")
    except OSError:
        return ""
    return new
