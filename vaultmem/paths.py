"""The paths of state, settings and the vault: the same as from platformdirs, in a tenth of its import time.

A test compares these folders with those of platformdirs on every system; docs/adr/0003 says why it is not used.
"""

from __future__ import annotations

import os
import stat
import sys
from _thread import get_ident

from vaultmem.errors import StateError, VaultNotFoundError

TYPE_CHECKING = False  # as in text.values, without importing another file
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

try:  # the same function; hashlib would also load OpenSSL, a quarter of a bare Python start
    from _blake2 import blake2b as blake2b  # noqa: PLC0414 - for others, too
except ImportError:
    from hashlib import blake2b as blake2b  # noqa: PLC0414 - the same


# Environment variables that are not settings: set only in the environment, or for one run.
NO_SETTINGS = frozenset((
    "VAULTMEM_STATE", "VAULTMEM_DEBUG", "VAULTMEM_PAGER", "VAULTMEM_NOW", "VAULTMEM_TESTS",
))  # fmt: skip


def state_root() -> str:
    """The folder that holds the state of all vaults."""
    if override := os.environ.get("VAULTMEM_STATE"):
        return os.path.abspath(override)
    return _app_folder("XDG_STATE_HOME", ".local/state")


def config_file() -> str:
    """The user's own config.yaml."""
    return os.path.join(_app_folder("XDG_CONFIG_HOME", ".config"), "config.yaml")


def _app_folder(xdg: str, fallback: str) -> str:
    home = os.environ.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):  # it would be below the working directory, perhaps in a vault
        raise StateError(f"the home folder {home!r} is not an absolute path; set HOME")
    if sys.platform == "win32":
        return os.path.join(
            os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "vaultmem"
        )
    chosen = os.environ.get(xdg, "").strip()
    if chosen and os.path.isabs(chosen):
        return os.path.join(chosen, "vaultmem")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "vaultmem")
    return os.path.join(home, fallback, "vaultmem")


def vault_id(vault: str) -> str:
    """A readable, unique name for the state folder of a vault, from its real path."""
    real = os.path.realpath(vault)
    name = "".join(c if c.isalnum() else "-" for c in os.path.basename(real).lower())[:40]
    return f"{name or 'vault'}-{blake2b(os.fsencode(real), digest_size=6).hexdigest()}"


def state_folder(vault: str) -> str:
    """The state folder of one vault (not created)."""
    return os.path.join(state_root(), vault_id(vault))


def program() -> list[str]:
    """The command that starts vaultmem from anywhere; the script beside this Python starts fastest."""
    beside = os.path.join(os.path.dirname(sys.executable), "vaultmem")
    return [beside] if os.access(beside, os.X_OK) else [sys.executable, "-P", "-m", "vaultmem"]


LONGEST_SOCKET = 100  # bytes; systems allow 104 or 108, including the final zero


def socket_path(vault: str) -> str:
    """The path of the agent's socket for a vault, computed without reading anything."""
    root, real = os.fsencode(state_root()), os.fsencode(os.path.realpath(vault))
    path = os.path.join(root, b"run", _digest(real) + b".sock")
    if len(path) > LONGEST_SOCKET:
        folder = b"/tmp/vaultmem-%d" % os.getuid()  # both ends check its owner
        path = os.path.join(folder, _digest(root + b"\0" + real) + b".sock")
    return os.fsdecode(path)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).hexdigest().encode("ascii")


def _to_make(folder: str) -> list[str]:
    """The missing folders in a path, outermost first; all of them become private."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing[::-1]


def make_private(folder: str) -> str:
    """Create a folder that only its owner can read. Returns its path. Raises StateError."""
    try:
        for part in _to_make(folder):
            try:
                os.mkdir(part, 0o700)
            except FileExistsError:
                continue  # another process was faster; the folder is checked below
        result = os.lstat(folder)
        if stat.S_ISLNK(result.st_mode):
            raise StateError(f"{folder} is a link; remove it, and vaultmem creates a folder there")
        if not stat.S_ISDIR(result.st_mode):
            raise NotADirectoryError(0, "a file is in its place")
        if hasattr(os, "getuid") and result.st_uid != os.getuid():
            raise StateError(
                f"{folder} belongs to another user, who could tamper with it; "
                "remove it, or set VAULTMEM_STATE to a folder of your own"
            )
        os.chmod(folder, 0o700)
    except OSError as error:
        raise StateError(
            f"cannot create the state folder {folder}: {error.strerror}; "
            "set VAULTMEM_STATE to a folder you can write to"
        ) from error
    return folder


class FolderLock:
    """While it is held, other processes and threads wait for the lock of the same folder and name: a file in it, since
    network drives lock only what is open for writing. Without `wait`, entering gives False while another one holds it.
    Raises OSError."""

    def __init__(self, folder: str, name: str = ".lock", *, wait: bool = True) -> None:
        self._path, self._wait = f"{folder}/{name}", wait

    def __enter__(self) -> bool:
        import fcntl  # not needed for a path

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._handle = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | (0 if self._wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def keep_private(file: str) -> str:
    """Make a file readable by its owner only, creating it if it does not exist, for a library to fill. Returns its
    path. Errors are left to the code that opens it. An existing file is never opened: closing it would release all
    locks that SQLite has on it in this process, and another process would discard its log."""
    try:
        if not os.path.lexists(file):
            os.close(os.open(file, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))
        elif stat.S_ISREG(mode := os.lstat(file).st_mode) and mode & 0o077:
            os.chmod(file, 0o600)
    except OSError:
        pass
    return file


def replace_private(
    path: str, content: str | bytes, *, sync: bool = False, by_way_of: str = ""
) -> None:
    """Atomically replace a file that only its owner can read; durably with `sync`. The new file is created beside it,
    or beside `by_way_of`. Raises OSError."""
    fresh = f"{by_way_of or path}.{os.getpid()}-{get_ident()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(fresh, flags, 0o600), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(fresh, path)
        if sync:
            flush_names(os.path.dirname(path))
    except OSError:
        if os.path.lexists(fresh):
            os.unlink(fresh)
        raise


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file; {} if the file is missing, unreadable or damaged, or holds another value."""
    from vaultmem.text.values import json_object  # not needed for a path

    try:
        # As text, and through a buffer, this would take twice as long.
        with open(path, "rb", buffering=0) as file:
            return json_object(file.read())
    except OSError:
        return {}


def flush_names(folder: str | os.PathLike[str]) -> None:
    """Make new names in a folder survive a power cut; some file systems cannot and need not."""
    from contextlib import suppress  # not needed for a path

    with suppress(OSError):
        flush(folder)


def flush(path: str | os.PathLike[str]) -> None:
    """Make a file survive a power cut. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, in hex. Raises OSError."""
    import hashlib  # loads OpenSSL

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


VAULT_MARKS = (".obsidian", "logseq/config.edn", ".vaultmem")


def stamp(path: str, look: Callable[[str], os.stat_result] = os.stat) -> tuple[int, int, int]:
    """A value that changes when the file is replaced or written. Raises OSError."""
    status = look(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def looks_like_vault(folder: str) -> bool:
    """Whether a folder has an editor's or vaultmem's own folder."""
    return any(os.path.exists(os.path.join(folder, mark)) for mark in VAULT_MARKS)


def here() -> str:
    """The working directory; "" if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def find_vault(start: str) -> str | None:
    """The nearest folder at or above `start` that looks like a vault, or has a state folder; None if there is none."""
    return next(
        (folder for folder in at_and_above(start)
         if looks_like_vault(folder) or os.path.isdir(state_folder(folder))), None,
    )  # fmt: skip


def at_and_above(folder: str) -> Iterator[str]:
    """Yield the folder, its parent, and so on."""
    folder, below = folder and os.path.abspath(folder), ""
    while folder != below:
        yield folder
        folder, below = os.path.dirname(folder), folder


def choose_vault(
    named: str | None, configured: str | None, claimed: Callable[[str], str | None] | None = None
) -> str:
    """The vault to work on: --vault, VAULTMEM_VAULT, the folder at or above, the setting, or the `claimed` one."""
    chosen = named or os.environ.get("VAULTMEM_VAULT") or find_vault(here()) or configured
    if not chosen and claimed and here():
        chosen = claimed(here())
    if not chosen:
        raise VaultNotFoundError(
            "no vault here: vaultmem setup finds your notes; or name them with --vault FOLDER, VAULTMEM_VAULT, or "
            f"`vault: FOLDER` in {config_file()}"
        )
    return check_vault(chosen)


def check_vault(folder: str) -> str:
    """The absolute path of a vault folder. Raises VaultNotFoundError or VaultGoneError if it is not a readable
    folder."""
    path = os.path.abspath(os.path.expanduser(folder))
    if not os.path.exists(path):
        raise VaultNotFoundError(
            f"{path} does not exist; check the path, or whether its drive is mounted"
        )
    if not os.path.isdir(path):
        raise VaultNotFoundError(f"{path} is not a folder; name the folder that holds the notes")
    if os.path.realpath(path) in ("/", os.path.expanduser("~")) and not looks_like_vault(path):
        raise VaultNotFoundError(
            f"{path} is not a vault but holds all your files; name the folder that holds the notes"
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise VaultNotFoundError(f"{path} cannot be read; check its permissions")
    return path


_OTHER_PAGES = ("expectations.md", "memory.md", "what changed.md")  # which we also write


def inside(folder: str) -> str:
    """Check a setting: a relative path inside a vault; editors neither show nor sync folders with a leading dot."""
    parts = folder.replace("\\", "/").split("/")
    if os.path.isabs(folder) or not all(part and not part.startswith(".") for part in parts):
        raise ValueError("a visible folder inside the vault")
    if "node_modules" in parts:
        raise ValueError("a folder that editors do not ignore, unlike node_modules")
    if folder.isascii():
        return folder
    from unicodedata import normalize

    # In the spelling of the walk, or our page would be taken for a note.
    return normalize("NFC", folder)


def page(path: str) -> str:
    """Check a setting: the path of a page in the vault; "" and off mean none."""
    if path in ("", "off"):
        return path
    if not path.endswith(".md"):
        raise ValueError("the path of a page in the vault that ends with .md, or off")
    if path.rpartition("/")[2].casefold() in _OTHER_PAGES:
        raise ValueError("a page that vaultmem does not use for anything else")
    return inside(path)


def project_names(folder: str) -> list[str]:
    """The names that a folder's project may have in memories: the folder's, its repository's, and Claude Code's name
    of either (the path below the home folder, with dashes)."""
    home = os.path.expanduser("~")
    return [
        name
        for place in dict.fromkeys((folder, repository(folder)))
        if place and os.path.basename(place) and place != home
        for name in (os.path.basename(place), _dash_digits(place.removeprefix(home)))
    ]


def is_project(folder: str) -> bool:
    """Whether a folder is in a vault, or in a repository other than the home folder."""
    own = repository(folder)
    return bool(own and own != os.path.expanduser("~")) or find_vault(folder) is not None


def repository(folder: str) -> str:
    """The nearest Git repository at or above this folder; "" for none."""
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _dash_digits(path: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in path).strip("-")
