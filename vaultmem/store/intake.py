"""What became of the files since the last commit, as commits: our batches, and what people did in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vaultmem.store.batch_record import Batch, Step
from vaultmem.store.commits import PERSON, YOU, Message, Stream, Told, storable
from vaultmem.store.repository import blob_id

_FOUND = "as it was found"
_OUTSIDE = "outside vaultmem"

Read = Callable[[str], bytes | None]


class Intake:
    """Writes commits to a stream, oldest first; `tree` is always what the last one holds."""

    def __init__(self, stream: Stream, tree: dict[str, str], folder: str) -> None:
        self._stream = stream
        self._inside = f"{folder}/"
        self.tree = tree

    def found(
        self, batches: Sequence[Batch], blobs: Mapping[str, str], read: Read, at: float
    ) -> None:
        """The first commit: the files as they were before the first batch."""
        touched: set[str] = set()
        puts: dict[str, str] = {}
        for step in (step for batch in batches for step in batch.steps):
            if step.path is not None and step.path not in touched and step.old is not None:
                self._put(puts, step.path, step.old)
            touched.update({step.path or step.target, step.target})
        for path in sorted(blobs.keys() - touched):
            data = read(path)
            if data is not None:
                self._put(puts, path, data)
        if puts:
            at = min((batch.header.at for batch in batches), default=at)
            self._commit(Message(YOU, PERSON, _FOUND, at), puts, set())

    def batch(self, batch: Batch, gone: Mapping[str, str]) -> None:
        """One of ours; before it what somebody did to its files. `gone`: paths by the id of what they held."""
        steps = [step for step in batch.steps if storable(step.target)]
        self._before(steps, batch.header.at, gone)
        puts: dict[str, str] = {}
        for step in steps:
            self._put(puts, step.target, step.new)
        drops = {step.path for step in steps if step.path is not None}
        drops -= {step.target for step in steps}
        by, kind, why, at = batch.header
        files = tuple(map(_told, steps))
        self._commit(Message(by, kind, why, at, batch.token, files), puts, drops & self.tree.keys())

    def _before(self, steps: Sequence[Step], at: float, gone: Mapping[str, str]) -> None:
        freed = {step.path for step in steps}
        puts: dict[str, str] = {}
        drops: set[str] = set()
        for step in steps:
            if step.path is not None and step.old is not None:
                self._put(puts, step.path, step.old)
            if step.path != step.target and step.target in self.tree and step.target not in freed:
                drops.add(step.target)
        for path, held in puts.items():
            if path not in self.tree and self.tree.get(gone.get(held, "")) == held:
                drops.add(gone[held])
        self._by_person(puts, drops, at)

    def gone(self, batches: Sequence[Batch], blobs: Mapping[str, str]) -> dict[str, str]:
        """Files that a person may have moved away before a batch, by the id of what they held."""
        ours = {step.path for batch in batches for step in batch.steps}
        lost = [path for path in self.tree if path not in blobs and path not in ours]
        return {self.tree[path]: path for path in lost if path.startswith(self._inside)}

    def now(self, blobs: Mapping[str, str], read: Read, at: float) -> None:
        """What is still different; nothing when the folder is suddenly empty, as that of a drive that went."""
        if not blobs:
            return
        puts: dict[str, str] = {}
        for path in sorted(path for path, held in blobs.items() if self.tree.get(path) != held):
            data = read(path)
            if data is not None:
                self._put(puts, path, data)
        drops = {path for path in self.tree if path not in blobs and path.startswith(self._inside)}
        self._by_person(puts, drops, at)

    def _by_person(self, puts: dict[str, str], drops: set[str], at: float) -> None:
        """A commit of what somebody did without us, if there is anything."""
        if not puts and not drops:
            return
        created = [path for path in sorted(puts) if path not in self.tree]
        lost = {self.tree[path]: path for path in sorted(drops, reverse=True)}
        moves = [
            Told(lost.pop(puts[path]), path, "", puts[path], puts[path])
            for path in created
            if puts[path] in lost
        ]
        done = {
            "created": len(created) > len(moves),
            "edited": len(puts) > len(created),
            "moved": bool(moves),
            "removed": len(drops) > len(moves),
        }
        why = f"{' and '.join(word for word, was in done.items() if was)} {_OUTSIDE}"
        if not any(path.startswith(self._inside) for path in (*puts, *drops)) and len(
            created
        ) == len(puts):
            why = _FOUND  # a person's own note, seen for the first time because it is about to be changed
        self._commit(Message(YOU, PERSON, why, at, files=tuple(moves)), puts, drops)

    def _put(self, puts: dict[str, str], path: str, data: bytes) -> None:
        """Bytes for a path, unless the last commit has them there."""
        if storable(path) and self.tree.get(path) != blob_id(data):
            puts[path] = self._stream.blob(data)

    def _commit(self, message: Message, puts: dict[str, str], drops: set[str]) -> None:
        self._stream.commit(message, puts, drops)
        for path in drops:
            del self.tree[path]
        self.tree.update(puts)


def _told(step: Step) -> Told:
    told = Told(step.path, step.target, step.why)
    if step.path is None or step.path == step.target or step.old is None:
        return told
    return told._replace(old=blob_id(step.old), new=blob_id(step.new))
