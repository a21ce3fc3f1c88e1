"""Reads the files of a vault: any bytes become text, and nothing outside the vault is read.

Notes are read here and written in vault.write; no other module opens them.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat as modes
import time

from vaultmem.light import NamedTuple
from vaultmem.paths import blake2b
from vaultmem.vault.walk import has_one_spelling, nfc, spellings, sqlite_int

# Open a file of the vault so that no symbolic link in its path can lead out of it.

_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
# Open folders; some systems allow 256 open files per process, and there may be eight searches at once.
MOST_OPEN = 64
_BY_FOLDER = os.open in os.supports_dir_fd


def open_inside(root: str, path: str) -> int:
    """A file handle for reading. Raises OSError when the file does not exist or any part of its path is a link.

    Folder by folder, because a folder may be swapped for a link between the listing and the reading. Non-blocking: a
    fifo must not stop us. The root itself may be a link, as the user chose it.
    """
    with Inside(root) as inside:
        return inside.open(path)


class Inside:
    """Opens many files of a vault as open_inside() does, each folder only once."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folders: dict[str, int] = {}

    def __enter__(self) -> Inside:
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._folders.values():
            os.close(handle)
        self._folders.clear()

    def open(self, path: str) -> int:
        """A file handle for reading. Raises OSError as open_inside() does."""
        if ".." in path.split("/"):
            raise PermissionError(1, "leads out of the vault", path)
        if not _BY_FOLDER:
            return os.open(os.path.join(self._root, path), _FILE | _NO_LINK)
        folder, _, name = path.rpartition("/")
        return os.open(name, _FILE | _NO_LINK, dir_fd=self.folder(folder))

    def folder(self, path: str) -> int:
        """The handle of a folder, opened from the innermost one that is already open."""
        missing = []
        while path not in self._folders and path:
            path, _, name = path.rpartition("/")
            missing.append(name)
        if path not in self._folders:
            self._folders[path] = os.open(self._root, _FOLDER)
        for name in reversed(missing):
            outer = self._folders[path]
            path = f"{path}/{name}" if path else name
            self._folders[path] = os.open(name, _FOLDER | _NO_LINK, dir_fd=outer)
        handle = self._folders[path]
        if len(self._folders) > MOST_OPEN:
            del self._folders[path]
            for other in self._folders.values():
                os.close(other)
            self._folders = {path: handle}
        return handle


# A file may change twice within one tick of the file system's clock, which is two seconds on FAT.
SETTLED_NS = 2_000_000_000
TICK_NS = 20_000_000  # in one tick of the file system's clock a file may be written twice
CAP = 4_000_000  # bytes of one note that are read for the index
_SETTINGS_CAP = 1_000_000
_TRIES = 3
_PAUSE = 0.002  # seconds before reading a file again that changed meanwhile

_WIDE = {  # byte order marks, the longer ones first
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


class Read(NamedTuple):
    """A file as text, with what identifies its bytes."""

    text: str  # line ends "\\n", no byte order mark
    hash: str  # of the bytes read, see digest(); "" when nothing could be read
    size: int  # of the whole file, bytes
    mtime_ns: int
    trouble: str | None = None  # the problem with the file, in one line
    gone: bool = False  # the file does not exist


def digest(data: bytes) -> str:
    """BLAKE2b of 128 bits in hex: the identity of a file's content."""
    return blake2b(data, digest_size=16).hexdigest()


def read(root: str, path: str, cap: int = CAP, inside: Inside | None = None) -> Read:
    """Read a file by its path in the vault (in NFC or as spelled on disk); pass `inside` to read many. Never raises
    OSError.

    Symbolic links, folders, fifos and devices are not read; a file over `cap` bytes is read up to there. If another
    program keeps writing, the last reading is returned with a problem in `trouble`.
    """
    try:
        try:
            handle = inside.open(path) if inside else open_inside(root, path)
            data, stat, quiet = content_of(handle, cap)
        except FileNotFoundError:
            raw = on_disk(root, path)
            if raw is None:
                raise
            data, stat, quiet = content_of(open_inside(root, raw), cap)
    except (OSError, ValueError) as error:
        gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
        return Read("", "", 0, 0, f"cannot be read: {reason_of(error)}", gone)
    text, trouble = decode(data)
    if stat.st_size > cap:
        text = text[: text.rfind("\n") + 1] or text
        trouble = f"{stat.st_size / 1e6:.1f} MB long; only the first {cap / 1e6:g} MB are read"
    if not quiet:
        trouble = "another program wrote to it while it was read"
    return Read(text, digest(data), stat.st_size, sqlite_int(stat.st_mtime_ns), trouble)


def reason_of(error: OSError | ValueError) -> str:
    """Why a file could not be opened, in a few words."""
    if isinstance(error, OSError):
        link = error.errno == errno.ELOOP
        return "a symbolic link" if link else error.strerror or "an unknown error"
    return str(error)


def content(full: str, cap: int) -> tuple[bytes, os.stat_result, bool]:
    """The content of a file, its stat, and whether it was unchanged while it was read."""
    folder, _, name = full.rpartition("/")
    return content_of(open_inside(folder, name), cap)


def content_of(handle: int, cap: int) -> tuple[bytes, os.stat_result, bool]:
    """Like content(), for an open handle, which is closed. Raises OSError when it is not a regular file."""
    try:
        before = os.fstat(handle)
        if not modes.S_ISREG(before.st_mode):
            raise OSError(0, "not a regular file")
        for turn in range(_TRIES):
            data = _read_up_to(handle, min(before.st_size, cap))
            after = os.fstat(handle)
            whole = len(data) == before.st_size or before.st_size > cap
            if whole and same_moment(before, after):
                return data[:cap], after, True
            before = after
            time.sleep(_PAUSE * (turn + 1))
        return data[:cap], after, False
    finally:
        os.close(handle)


def _read_up_to(handle: int, length: int) -> bytes:
    """The first `length` bytes of a file, or all if it is shorter; one more tells that there are more."""
    data = os.pread(handle, length + 1, 0)
    while data and len(data) < length:
        more = os.pread(handle, length + 1 - len(data), len(data))
        if not more:
            break
        data += more
    return data


def same_moment(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether two stats are of the same state of a file."""
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def decode(data: bytes) -> tuple[str, str | None]:
    """Decode bytes to text with "\\n" line ends. Returns the text and a problem, or None.

    Invalid bytes become U+FFFD, as does NUL, according to CommonMark.
    """
    trouble: str | None = None
    encoding, skip = encoding_of(data)
    try:
        text = data[skip:].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start + skip) + 1
        trouble = f"line {line}: not valid {encoding.upper()}"
        text = data[skip:].decode(encoding, "replace")
    if "\0" in text:
        trouble = f"line {text.count(chr(10), 0, text.index(chr(0))) + 1}: a NUL byte; is this a text file?"
        text = text.replace("\0", "\ufffd")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text, trouble


def encoding_of(data: bytes) -> tuple[str, int]:
    """The encoding by the byte order mark, and the mark's length."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8", 3
    if data[:1] in {b"\xff", b"\xfe", b"\0"}:
        for mark, encoding in _WIDE.items():
            if data.startswith(mark):
                return encoding, len(mark)
    return "utf-8", 0


def on_disk(root: str, path: str) -> str | None:
    """The spelling on disk of an NFC path of the vault; None when there is no such file."""
    if os.path.lexists(f"{root}/{path}"):
        return path
    if has_one_spelling(path):
        return None
    raw = ""
    for part in path.split("/"):
        name = _name_on_disk(f"{root}/{raw}", part)
        if name is None:
            return None
        raw = f"{raw}/{name}" if raw else name
    return raw


def _name_on_disk(folder: str, name: str) -> str | None:
    if os.path.lexists(f"{folder}/{name}"):
        return name
    return None if has_one_spelling(name) else spellings(folder).get(nfc(name))


class Root:
    """The vault's folder (implements adapter.Folder): nothing outside it is visible."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists at a path."""
        full = self.inside(path)
        return full is not None and os.path.exists(full)

    def read(self, path: str) -> bytes | None:
        """The first megabyte of a file; None when it does not exist or cannot be read."""
        full = self.inside(path)
        if full is None:
            return None
        try:
            return content(full, _SETTINGS_CAP)[0]
        except OSError:
            return None

    def inside(self, path: str) -> str | None:
        """The real path, or None when it leads out of the vault or does not exist."""
        if "\0" in path or path.startswith("/") or ".." in path.split("/"):
            return None
        raw = on_disk(self.root, path)
        if raw is None:
            return None
        full = os.path.realpath(f"{self.root}/{raw}")
        return full if full == self.root or full.startswith(self.root.rstrip("/") + "/") else None
