"""The history of everything that vaultmem wrote, and of people's changes to the same files, in a private repository.

The newest commit decides what is recorded: batches are forgotten only after they are committed.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from vaultmem.errors import StateError, VaultmemError
from vaultmem.history import commits
from vaultmem.history.commits import Commit, Difference, Files, Intake, Read
from vaultmem.history.repository import BRANCH, NO_GIT, Repository, is_there
from vaultmem.vault.batch_record import Batch
from vaultmem.vault.batches import Batches

log = logging.getLogger("vaultmem.memories")

_WITHOUT_GIT = 1_000  # batches kept until git is installed
_OFF = "there is no history: memories.history is off in the settings"
_SHORTEST = 4  # digits of a hash
_NOTHING = "0" * 40
_FORMAT = "--format=%H%n%at%n%B"
_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv")


class History:
    """The history of a vault. The caller of take_in() or tidy() holds the lock of the state folder."""

    def __init__(self, folder: str, vault: str, memory_folder: str, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._repository = Repository(folder)
        self._vault = vault
        self._memories = memory_folder
        self._settled: str | None = None  # a newest commit without a waiting batch
        self._intact: object = None  # the failure that led to the last check

    def trouble(self) -> str | None:
        """Why there is no history, and what to do."""
        if not self.is_on:
            return _OFF
        return None if is_there() else NO_GIT

    # Recording

    def take_in(self, batches: Batches, blobs: Mapping[str, str], now: float, read: Read) -> int:
        """Commit the waiting batches, then what people did. Returns the number of commits.

        `blobs`: paths and Git's blob ids of all files in the memory folder; `read` gives their bytes.
        """
        waiting = batches.waiting()
        if not self.is_on or not is_there():
            for batch in waiting[: -_WITHOUT_GIT if self.is_on else None]:
                batches.forget(batch.number)
            return 0
        blobs = {path: held for path, held in blobs.items() if commits.is_storable(path)}
        try:
            count = self._import(waiting, blobs, now, read)
        except StateError as error:
            if not self._begins_again(error):
                raise
            count = self._import(waiting, blobs, now, read)
        for batch in waiting:
            batches.forget(batch.number)
        self._settled = self._repository.tip()
        return count

    def _begins_again(self, error: StateError) -> bool:
        """Set the repository aside if it is damaged. Returns whether it was. The check reads all of it, so it is not
        repeated after the same failure of the same repository, as happens at every attempt on a full disk."""
        failure = self._repository.state(), str(error)
        if failure == self._intact:
            return False
        damage = self._repository.damage()
        if damage is None:
            self._intact = failure
            return False
        log.error("the history is damaged (%s) and set aside; a new one begins", damage)
        self._repository.set_aside()
        self._settled = None
        return True

    def _import(
        self, waiting: Sequence[Batch], blobs: Mapping[str, str], now: float, read: Read
    ) -> int:
        """Commit what is not in the history yet, all or nothing. Returns the number of commits."""
        self._repository.ensure()
        tip = self._repository.tip()  # read once: everything below must refer to the same commit
        tokens = self._tokens(tip, 2 * len(waiting) + 2) if waiting else set()
        fresh = [batch for batch in waiting if batch.token not in tokens]
        tree = self._repository.tree(tip)
        with self._repository.chain(tip, tree) as chain:
            # Without those stored by this import.
            held = partial(self._repository.blobs, lacking=True)
            files = Files(blobs, read, held)
            Intake(chain, tree, self._memories, files).take(fresh, now)
        return chain.commits

    def tidy(self) -> bool:
        """Pack the repository if needed; for a quiet moment. Returns whether it was packed."""
        try:
            return is_there() and self._repository.tip() is not None and self._repository.tidy()
        except StateError as error:
            if not self._begins_again(error):
                raise
            return False

    def damage(self) -> str | None:
        """What is wrong with the repository; None when it is intact."""
        return self._repository.damage()

    def damaged(self) -> list[str]:
        """The paths of histories that were set aside."""
        return self._repository.damaged()

    def _tokens(self, tip: str | None, count: int) -> set[str]:
        """The tokens of the batches in the last commits, some of which may still be waiting."""
        if tip is None or tip == self._settled:
            return set()
        messages = self._repository.messages(tip, count)
        return {commits.parse_message(message.lstrip("\n")).token for message in messages} - {""}

    # Reading

    def log(
        self,
        path: str | None = None,
        limit: int | None = 20,
        by: Callable[[str], bool] | None = None,
        since: float | None = None,
    ) -> list[Commit]:
        """Commits, newest first: all, or those of one file, including earlier names. `by` matches the author's
        name."""
        tip = self._tip()
        if tip is None:
            return []
        some = [] if limit is None or by is not None or since is not None else [f"-n{limit}"]
        every = self._of_path(tip, path) if path is not None else self._read(tip, *some)
        entries = (
            commit
            for commit in every
            if (by is None or by(commit.by)) and (since is None or commit.at >= since)
        )
        return [*islice(entries, limit)]

    def show(self, commit: str) -> Commit:
        """The commit with a hash or its beginning. Raises VaultmemError if it is unknown or ambiguous."""
        return next(self._read("-n1", self.resolve(commit)))

    def files(self, commit: Commit) -> list[Difference]:
        """The files of a commit with their bytes before and after."""
        data = self._repository.blobs(
            [id_ for file in commit.files for id_ in (file.old, file.new) if id_]
        )
        return [
            Difference(file.path, data.get(file.old), file.target, data.get(file.new))
            for file in commit.files
        ]

    def removed(self, limit: int) -> list[tuple[str, bytes, float]]:
        """The files that people removed in the last commits, last removed first: path, last bytes, and time."""
        tip = self._tip()
        gone = [
            (file.path, file.old, commit.at)
            for commit in (self._read(tip, f"-n{limit}") if tip else ())
            for file in commit.files
            if not commit.is_ours and file.path is not None and file.target is None and file.old
        ]
        data = self._repository.blobs([old for _, old, _ in gone])
        return [(path, data[old], at) for path, old, at in gone]

    def moved_since(self, hashes: Sequence[str]) -> list[dict[str, str]]:
        """The later paths of files, by the path that they had after each of these commits, newest first."""
        tip, places = self._tip(), dict[str, str]()
        after = dict.fromkeys(hashes, places)
        if tip is None or not {*hashes} - {tip}:
            return [*after.values()]
        output = self._repository.run("log", "--format=%H%n%B%x00", f"{hashes[-1]}..{tip}")
        for entry in output.decode("utf-8", "replace").split("\0"):
            commit, _, text = entry.lstrip("\n").partition("\n")
            if commit in after:
                after[commit] = dict(places)
            files = commits.parse_message(text).files
            moves = [(file.path, file.target) for file in files if file.path and file.target]
            places |= {path: places.get(to, to) for path, to in moves if path != to}
        return [*after.values()]

    def resolve(self, prefix: str) -> str:
        """The full hash for a prefix of at least four digits."""
        digits = prefix.strip().lower()
        if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},40}}", digits):
            raise VaultmemError(f"{prefix!r} is not a commit; vaultmem history lists them")
        if self._tip() is not None:
            code, output = self._repository.ask(
                "rev-parse", "--verify", "--quiet", f"{digits}^{{commit}}"
            )
            if code == 0:
                return output.decode("ascii").strip()
            hashes = self._repository.ask("rev-list", BRANCH)[1].decode("ascii").split()
            if sum(hash_.startswith(digits) for hash_ in hashes) > 1:
                raise VaultmemError(f"{prefix} matches several commits; type more of it")
        raise VaultmemError(f"there is no commit {prefix}; vaultmem history lists them")

    def diff(self, commit: str) -> str:
        """The changes of a commit as a unified diff."""
        output = self._repository.run(
            "diff-tree", "-p", "-r", "--root", "-M", *_DIFF[1:], "--no-color", "--format=", commit
        )  # fmt: skip
        return output.decode("utf-8", "replace")

    def merged(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """A three-way merge; None if both sides change the same lines, or without git."""
        if ours in (base, theirs):
            return theirs
        if theirs == base:
            return ours
        if not is_there():
            return None
        self._repository.ensure()
        above = os.path.dirname(self._repository.folder)
        with tempfile.TemporaryDirectory(prefix="merge-", dir=above) as folder:
            names = [f"{folder}/{name}" for name in ("ours", "base", "theirs")]
            for name, data in zip(names, (ours, base, theirs), strict=True):
                with open(name, "wb") as file:
                    file.write(data)
            code, output = self._repository.ask("merge-file", "-p", "-q", *names)
        return output if code == 0 else None

    # Internals

    def _tip(self) -> str | None:
        """The newest commit; None without git or without a history."""
        tip = self._repository.tip()
        if tip is not None and not is_there():
            raise VaultmemError(NO_GIT)
        return tip

    def _of_path(self, tip: str, path: str) -> Iterator[Commit]:
        """The commits of a file, including those under its earlier names."""
        start, before = tip, path
        while start:
            at, start = start, ""
            for record in self._read(at, "--full-diff", "--", before):
                yield record
                moved = (file for file in record.files if file.target == before != file.path)
                former = next((change.path for change in moved if change.path), None)
                if former:
                    start, before = f"{record.commit}^", former
                    break

    def _read(self, *which: str) -> Iterator[Commit]:
        """The commits that `git log` lists for these arguments, with their files."""
        output = self._repository.run(
            "log", "-r", "-z", "--raw", "--no-abbrev", *_DIFF, _FORMAT, *which
        )  # fmt: skip
        parts = iter(output.split(b"\0"))
        head: bytes | None = None
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        for part in parts:
            if part.lstrip(b"\n").startswith(b":"):
                _, _, old, new, _ = part.decode("ascii").split(" ")
                path = os.fsdecode(next(parts))
                before |= {path: old} if old != _NOTHING else {}
                after |= {path: new} if new != _NOTHING else {}
                continue
            if head is not None:
                yield _to_commit(head, before, after)
            head, before, after = part.lstrip(b"\n") or None, {}, {}


def _to_commit(head: bytes, before: Mapping[str, str], after: Mapping[str, str]) -> Commit:
    hash_, at, text = head.decode("utf-8", "replace").split("\n", 2)
    message = commits.parse_message(text)
    files = commits.all_files(message.files, before, after)
    return message._replace(commit=hash_, at=float(at), files=files)
