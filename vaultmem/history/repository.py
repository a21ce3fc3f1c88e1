"""A private bare Git repository, driven through GitPython and isolated from any other Git configuration.

Only our configuration, no hooks, no templates, no prompts, and no GIT_* variables of the caller, which may be a hook
of another repository.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from vaultmem.errors import StateError

BRANCH, DAMAGED = "refs/heads/main", ".damaged-"
NO_GIT = "git is not installed, so there is no history and no undo; install git to have both"
_HASH = re.compile(r"[0-9a-f]{40}")
_OURS = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_DEFAULT_HASH": "sha1", "GIT_DEFAULT_REF_FORMAT": "files",
}  # fmt: skip
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.sharedRepository=0600",  # whatever the umask says
    "core.fsync=committed,loose-object",  # batches are forgotten once they are committed
    "core.fsyncMethod=batch",
    "gc.auto=0",
    "maintenance.auto=false",
)
_PACKS, _LOOSE = 20, 4  # packs; loose objects in one of the 256 folders
_LOOKS = 5
_MOMENT = 0.5  # seconds
_NOT_FOUND = (126, 127)  # the exit code of env when it cannot start git


def is_there() -> bool:
    """Whether git is installed."""
    return bool(shutil.which("git") and shutil.which("env"))


SHORT = 16  # digits of a name


def blob_id(data: bytes) -> str:
    """The blob id that Git gives to these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def short_id(data: bytes) -> str:
    """The first digits of the blob id: enough to tell contents apart."""
    return blob_id(data)[:SHORT]


class Repository:
    """Runs git on one bare repository, which is created when it is first needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._last: tuple[str, dict[str, str]] | None = None

    def ensure(self) -> None:
        """Create the repository, completely or not at all."""
        if os.path.isfile(f"{self.folder}/HEAD"):
            return
        new = f"{self.folder}.new"
        shutil.rmtree(new, ignore_errors=True)
        try:
            os.makedirs(new, mode=0o700)
            made = Repository(new)
            made.run("init", "--quiet", "--bare", "--template=")
            made.run("symbolic-ref", "HEAD", BRANCH)
            os.replace(new, self.folder)
        except OSError as error:
            raise StateError(f"{self.folder} cannot be created: {error.strerror}") from error

    def tip(self) -> str | None:
        """The newest commit; None before the first."""
        try:
            with open(f"{self.folder}/{BRANCH}", encoding="ascii") as file:
                tip = file.read(100).strip()
        except (OSError, ValueError):
            tip = ""
        if _HASH.fullmatch(tip):
            return tip
        if not os.path.isfile(f"{self.folder}/HEAD"):
            return None
        code, output = self.ask("rev-parse", "--verify", "--quiet", BRANCH)
        return output.decode("ascii").strip() if code == 0 else None

    def tree(self, tip: str | None) -> dict[str, str]:
        """The blob ids by path in the newest commit `tip`, if there is one; a copy that the caller may change."""
        if tip is None:
            return {}
        if self._last is None or self._last[0] != tip:
            tree: dict[str, str] = {}
            entries = self.run("ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0")
            for entry in entries[:-1]:
                meta, _, path = entry.partition(b"\t")
                tree[os.fsdecode(path)] = meta.split(b" ")[2].decode("ascii")
            self._last = (tip, tree)
        return dict(self._last[1])

    def take(self, stream: IO[bytes], tree: dict[str, str]) -> None:
        """Feed a stream to fast-import, all or nothing; `tree` is the content of the newest commit after it."""
        arguments = ("fast-import", "--quiet", "--done", "--date-format=raw")
        stream.flush()
        code, _, errors = self._execute(arguments, stream.fileno())
        if code and self._remove_stale_lock():
            code, _, errors = self._execute(arguments, stream.fileno())
        if code:
            raise self._failure(errors)
        tip = self.tip()
        self._last = (tip, dict(tree)) if tip else None

    def blobs(self, names: Sequence[str], *, lacking: bool = False) -> dict[str, bytes]:
        """The bytes of blobs by their ids. Raises StateError for a missing one, or with `lacking` leaves it out."""
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        output = self.run("cat-file", "--batch", stdin="\n".join(wanted).encode() + b"\n")
        blobs, at = {}, 0
        for name in wanted:
            end = output.index(b"\n", at)
            head = output[at:end].split(b" ")
            if lacking and head[1] == b"missing":
                at = end + 1
                continue
            if head[1] != b"blob":
                raise StateError(f"the history in {self.folder} is damaged: it lacks {name}")
            at = end + 1 + int(head[2]) + 1
            blobs[name] = output[end + 1 : at - 1]
        return blobs

    def tidy(self) -> bool:
        """Pack loose objects when there are many. Returns whether it did. Takes seconds."""
        try:
            packs = sum(
                name.endswith(".pack") for name in os.listdir(f"{self.folder}/objects/pack")
            )
            loose = f"{self.folder}/objects/17"
            some = len(os.listdir(loose)) if os.path.isdir(loose) else 0
        except OSError:
            return False
        if packs <= _PACKS and some <= _LOOSE:
            return False
        self.run("repack", "-a", "-d", "-l", "-q")
        self.run("prune", "--expire=1.day.ago")
        for name in os.listdir(self.folder):
            if name.startswith("fast_import_crash_"):
                os.unlink(f"{self.folder}/{name}")
        return True

    def damage(self) -> str | None:
        """What is wrong with the repository, in Git's words; None when it is intact or cannot be checked. Reads all
        of it."""
        if not os.path.lexists(self.folder) or not is_there():
            return None
        for _ in range(_LOOKS):  # while others write, Git takes what is not there yet for a gap
            before = self._state()
            code, output, errors = self._execute(("fsck", "--no-dangling", "--no-progress"), None)
            if not code:
                return None
            if before == self._state():
                return _first_line(errors or output.decode("utf-8", "replace"))
        return None

    def _state(self) -> tuple[str | None, frozenset[str]]:
        """A value that changes when another process writes or packs here."""
        folder = f"{self.folder}/objects/pack"
        return self.tip(), frozenset(os.listdir(folder) if os.path.isdir(folder) else ())

    def set_aside(self) -> None:
        """Rename the repository, so that a new one can begin."""
        digits = [place.rpartition(DAMAGED)[2] for place in self.damaged()]
        number = 1 + max((int(one) for one in digits if one.isdecimal()), default=0)
        try:
            os.replace(self.folder, f"{self.folder}{DAMAGED}{number}")
        except OSError as error:
            raise StateError(f"{self.folder} cannot be set aside: {error.strerror}") from error
        self._last = None

    def damaged(self) -> list[str]:
        """The paths of repositories that were set aside."""
        folder, name = os.path.split(self.folder)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(f"{folder}/{one}" for one in names if one.startswith(name + DAMAGED))

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run git and return its output. Raises StateError when it fails."""
        with _held(stdin) as stream:
            code, output, errors = self._execute(arguments, stream.fileno() if stream else None)
        if code:
            raise self._failure(errors)
        return output

    def ask(self, *arguments: str) -> tuple[int, bytes]:
        """Run git and return its exit code and output."""
        return self._execute(arguments, None)[:2]

    def spooled(self) -> IO[bytes]:
        """An anonymous file beside the repository, which git may read."""
        return tempfile.TemporaryFile(dir=os.path.dirname(self.folder))

    def _execute(self, arguments: Sequence[str], stdin: int | None) -> tuple[int, bytes, str]:
        """Run git through env, because GitPython can add variables but not remove any. `stdin` is an open file, which
        git reads from its start."""
        if stdin is not None:
            os.lseek(stdin, 0, os.SEEK_SET)
        foreign = [name for name in os.environ if name.startswith("GIT_")]
        command = [
            "env", *(word for name in foreign for word in ("-u", name)),
            *(f"{name}={value}" for name, value in _OURS.items()), "git", "--literal-pathspecs", "--no-pager",
            f"--git-dir={self.folder}", *(word for setting in _SETTINGS for word in ("-c", setting)), *arguments,
        ]  # fmt: skip
        os.environ["GIT_PYTHON_REFRESH"] = "quiet"  # a missing git must not fail at import
        from git import Git
        from git.exc import CommandError

        try:
            code, output, errors = Git(self.folder).execute(
                command, istream=stdin, with_extended_output=True, with_exceptions=False, stdout_as_string=False,
                strip_newline_in_stdout=False,
            )  # fmt: skip
        except (CommandError, OSError) as error:
            raise StateError(NO_GIT) from error
        if code in _NOT_FOUND and not is_there():
            raise StateError(NO_GIT)
        return code, output, errors

    def _remove_stale_lock(self) -> bool:
        """Remove a lock that a killed git has left. Returns whether there was one. A git process may need a moment to
        end."""
        locks = [f"{self.folder}/{name}.lock" for name in (BRANCH, "HEAD", "packed-refs")]
        held = {lock: _inode(lock) for lock in locks if _inode(lock)}
        if held:
            time.sleep(_MOMENT)
        for lock, inode in held.items():
            if _inode(lock) == inode:
                os.unlink(lock)
        return bool(held)

    def _failure(self, errors: str) -> StateError:
        return StateError(
            f"the history cannot be used: {_first_line(errors)}; vaultmem doctor checks it"
        )


@contextmanager
def _held(data: bytes | None) -> Iterator[IO[bytes] | None]:
    """Data for git in an anonymous file, not beside the repository: reading must not need space there."""
    if data is None:
        yield None
        return
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        yield stream


def _first_line(errors: str) -> str:
    return next(
        (line.strip() for line in errors.splitlines() if line.strip()), "git gave no reason"
    )


def _inode(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return 0
