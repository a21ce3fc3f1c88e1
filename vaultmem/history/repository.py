"""A private bare Git repository, isolated from any other Git configuration. Commits are written without a process;
everything else runs git through GitPython.

Uses only our configuration, no hooks, no templates, no prompts, and no GIT_* variables of the caller, which may be a
hook of another repository.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from vaultmem.errors import StateError
from vaultmem.history import objects
from vaultmem.history.commits import Chain
from vaultmem.paths import make_private, replace_private
from vaultmem.text.values import lazy

BRANCH, DAMAGED = "refs/heads/main", ".damaged-"
NO_GIT = "git is not installed, so there is no history and no undo; install git to have both"
_TIP = lazy(rf"^([0-9a-f]{{40}})(?: {BRANCH})?$", re.MULTILINE)
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_OURS = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
}  # fmt: skip
_REFRESH = "GIT_PYTHON_REFRESH"  # not git's own
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.sharedRepository=0600",  # whatever the umask
    "core.fsync=committed",  # loose objects are removed once they are packed
    "gc.auto=0",
    "maintenance.auto=false",
)
_PACKS, _LOOSE = 20, 4  # packs; loose objects in one of the 256 folders
_LOOKS = 5
_DENIED = os.strerror(errno.EACCES)  # as files of another user are, after sudo
_EMPTY = objects.object_id(objects.TREE, b"")
_NOT_FOUND = (126, 127)  # the exit code of env when it cannot start git


def is_there() -> bool:
    """Whether git is installed."""
    return bool(shutil.which("git") and shutil.which("env"))


class Repository:
    """Runs git on one bare repository, created when first needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._last: tuple[str, dict[str, str]] | None = None

    def ensure(self) -> None:
        """Create the repository, completely or not at all."""
        if self._is_closed():
            raise StateError(f"{self.folder} cannot be read; see that it is yours, and open to you")
        if os.path.isfile(f"{self.folder}/HEAD"):
            return
        new = f"{self.folder}.new"
        shutil.rmtree(new, ignore_errors=True)
        try:
            for folder in ("objects/pack", "refs/heads"):
                make_private(f"{new}/{folder}")
            replace_private(f"{new}/HEAD", f"ref: {BRANCH}\n", sync=True)
            replace_private(f"{new}/config", _CONFIG, sync=True)
            os.replace(new, self.folder)
        except OSError as error:
            raise StateError(f"{self.folder} cannot be created: {error.strerror}") from error

    def tip(self) -> str | None:
        """The newest commit; None before the first."""
        for name in (BRANCH, "packed-refs"):
            with (
                contextlib.suppress(OSError),
                open(f"{self.folder}/{name}", encoding="ascii", errors="replace") as file,
            ):
                if tip := _TIP.search(file.read()):
                    return tip[1]
        return None

    def tree(self, tip: str | None) -> dict[str, str]:
        """The blob ids by path in the newest commit `tip`, if any; a copy that the caller may change."""
        if tip is None:
            return {}
        if self._last is None or self._last[0] != tip:
            try:
                root = objects.read(self.folder, tip)[5:45].decode("ascii")
                tree = objects.read_tree(self.folder, root)
            except LookupError:
                tree = self._packed_tree(tip)
            self._last = (tip, tree)
        return dict(self._last[1])

    def _packed_tree(self, tip: str) -> dict[str, str]:
        tree: dict[str, str] = {}
        entries = self.run("ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0")
        for entry in entries[:-1]:
            meta, _, path = entry.partition(b"\t")
            tree[os.fsdecode(path)] = meta.split(b" ")[2].decode("ascii")
        return tree

    def messages(self, tip: str, most: int) -> list[str]:
        """The messages of the last commits."""
        try:
            return objects.read_messages(self.folder, tip, most)
        except LookupError:
            output = self.run("log", f"--max-count={most}", "--format=%B%x00", tip)
            return output.decode("utf-8", "replace").split("\0")

    @contextmanager
    def chain(self, tip: str | None, tree: dict[str, str]) -> Iterator[Chain]:
        """A chain on top of the newest commit `tip`, whose end becomes the newest commit: all of it or nothing. The
        caller updates `tree`, the content of that commit."""
        if tip is None and os.path.lexists(f"{self.folder}/{BRANCH}"):
            raise self._failure("its branch cannot be read")
        fresh = objects.Objects(self.folder)
        try:
            chain = Chain(fresh, tip, tree)
            yield chain
            if chain.commits:
                fresh.put_in_place()
                # Git takes every file below refs for a branch, even one left by a kill.
                branch = f"{self.folder}/{BRANCH}"
                replace_private(branch, f"{chain.tip}\n", sync=True, by_way_of=f"{self.folder}/tip")
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from error
        finally:
            fresh.discard()
        self._last = (chain.tip, tree) if chain.tip else None

    def blobs(self, names: Sequence[str], *, lacking: bool = False) -> dict[str, bytes]:
        """The bytes of blobs by id. A missing one raises StateError, or is left out with `lacking`."""
        blobs: dict[str, bytes] = {}
        blob_names = []
        for name in dict.fromkeys(names):
            try:
                blobs[name] = objects.read(self.folder, name)
            except LookupError:
                blob_names.append(name)
        if not blob_names:
            return blobs
        output = self.run("cat-file", "--batch", stdin="\n".join(blob_names).encode() + b"\n")
        at = 0
        for name in blob_names:
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
        return True

    def damage(self) -> str | None:
        """What is wrong with the repository, in Git's words; None if it is intact or cannot be checked. Reads all of
        it."""
        if not os.path.lexists(self.folder) or self._is_closed() or not is_there():
            return None
        for _ in range(_LOOKS):  # while others write, Git reports missing objects
            before = self.state()
            code, output, errors = self._execute(("fsck", "--no-dangling", "--no-progress"), None)
            lines = (errors or output.decode("utf-8", "replace")).splitlines()
            # Earlier versions did not write the empty folder down, which Git knows.
            if not code or lines == [f"missing tree {_EMPTY}"] or _DENIED in errors:
                return None
            if before == self.state():
                return _first_line("\n".join(lines))
        return None

    def _is_closed(self) -> bool:
        """Whether we may not read it, which Git reports like damage."""
        return os.path.isdir(self.folder) and not os.access(self.folder, os.R_OK | os.X_OK)

    def state(self) -> tuple[str | None, frozenset[str]]:
        """A value that changes when another process writes or packs here."""
        folder = f"{self.folder}/objects/pack"
        return self.tip(), frozenset(os.listdir(folder) if os.path.isdir(folder) else ())

    def set_aside(self) -> None:
        """Rename the repository, so that a new one can be created."""
        digits = [place.rpartition(DAMAGED)[2] for place in self.damaged()]
        number = 1 + max((int(digit) for digit in digits if digit.isdecimal()), default=0)
        try:
            os.replace(self.folder, f"{self.folder}{DAMAGED}{number}")
        except OSError as error:
            raise StateError(f"{self.folder} cannot be set aside: {error.strerror}") from error
        self._last = None

    def damaged(self) -> list[str]:
        """The paths of repositories that were set aside."""
        folder, name = os.path.split(self.folder)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(f"{folder}/{entry}" for entry in names if entry.startswith(name + DAMAGED))

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

    def _execute(self, arguments: Sequence[str], stdin: int | None) -> tuple[int, bytes, str]:
        """Run git, through env if variables must be removed, as GitPython can only add some. `stdin` is an open file,
        which git reads from the start."""
        if stdin is not None:
            os.lseek(stdin, 0, os.SEEK_SET)
        foreign = (
            {name for name in os.environ if name.startswith("GIT_")} - _OURS.keys() - {_REFRESH}
        )
        command = [
            *(["env"] if foreign else []), *(word for name in foreign for word in ("-u", name)),
            "git", "--literal-pathspecs", "--no-pager", f"--git-dir={self.folder}",
            *(word for setting in _SETTINGS for word in ("-c", setting)), *arguments,
        ]  # fmt: skip
        os.environ[_REFRESH] = "quiet"  # a missing git must not fail at import
        from git import Git
        from git.exc import CommandError

        try:
            code, output, errors = Git(self.folder).execute(
                command, istream=stdin, with_extended_output=True, with_exceptions=False, stdout_as_string=False,
                strip_newline_in_stdout=False, env=_OURS,
            )  # fmt: skip
        except (CommandError, OSError) as error:
            raise StateError(NO_GIT) from error
        if code in _NOT_FOUND and not is_there():
            raise StateError(NO_GIT)
        return code, output, errors

    def _failure(self, errors: str) -> StateError:
        return StateError(
            f"the history cannot be used: {_first_line(errors)}; vaultmem doctor checks it"
        )


@contextmanager
def _held(data: bytes | None) -> Iterator[IO[bytes] | None]:
    """Data for git in an anonymous file elsewhere: reading must not need space beside the repository."""
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
