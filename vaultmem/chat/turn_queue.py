"""Turns of conversations that wait to be remembered: one JSON file each, on the disk before anybody is told of it.

<state>/turns/<number>-<id>.json   the numbers are in the order in which the turns began
<state>/turns/worker               flock of the one process that works on them
<state>/turns/change               flock of whoever replaces or removes a file
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple

from vaultmem.errors import StateError
from vaultmem.memories.conversation import ASSISTANT, USER, derived_id
from vaultmem.paths import make_private
from vaultmem.vault.moves import fsync_folder, write_all

log = logging.getLogger("vaultmem.turns")

SAID = "facts"  # in `meta`: what was found in the user's words
NOTED = "noted"  # in `meta`: the ids of those sides of it that were written as notes
SERVICE = "service"  # in an item's meta: the origin of the model's service that it was spoken to
FOLDER = "turns"  # in the state folder
OPEN_FOR = 600.0  # seconds after which nobody waits for an answer any more
LATEST = 9e9  # of a clock that goes wrong
_CLOCKS = 3.0  # seconds by which the start of a process may seem to shift
_NAME = re.compile(r"(\d{20})-([0-9a-f-]{36})\.json")
_BROKEN, _TEMPORARY = ".broken", ".tmp"
_temps = itertools.count(1)


class Item(NamedTuple):
    """One turn: what the user said, and what was answered if that is known. Times are seconds since the epoch."""

    id: str
    conversation: str
    user: str
    assistant: str | None  # None: no whole answer came
    began: float
    finished: float | None
    model: str = ""  # that was asked
    user_id: str = ""  # of the user's turn
    meta: Mapping[str, object] = {}
    number: int = 0  # its place in the order
    is_open: bool = False  # an answer may still come

    @property
    def assistant_id(self) -> str:
        """The id of the assistant's turn."""
        return derived_id(self.id, ASSISTANT)


class Turns:
    """The queue in a folder. Any thread of any process may use it. Raises StateError when nothing can be written."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def begin(
        self, conversation: str, user_text: str, at: float, *,
        user_id: str | None = None, meta: Mapping[str, object] | None = None,
    ) -> Item:  # fmt: skip
        """A turn begins. It survives a power cut from here on. `user_id` is that of the user's turn where it is an
        earlier one that is answered once more."""
        own, given = str(uuid.uuid4()), dict(meta or {})
        model = given.get("model")
        item = Item(
            own, conversation, user_text, None, at, None,
            model if isinstance(model, str) else "",
            user_id or derived_id(own, USER), given, self._next(at), is_open=True,
        )  # fmt: skip
        self._put(item)
        return item

    def finish(self, item: Item, assistant_text: str, at: float) -> Item:
        """The answer is there, and survives a power cut from here on."""
        done = item._replace(assistant=assistant_text, finished=at, is_open=False)
        self._put(done)
        return done

    def close(self, item: Item, at: float) -> Item:
        """No whole answer will come; the user's words are kept."""
        done = item._replace(finished=at, is_open=False)
        self._put(done)
        return done

    def said(self, item: Item, facts: list[str]) -> None:
        """These facts are in it. Where an answer came meanwhile they are not kept: it is looked at once more."""
        temp = self._prepared(item._replace(meta={**item.meta, SAID: facts}))
        with self._changing():
            now = self._read(_name(item))
            if now is None or (now.assistant, now.finished) != (item.assistant, item.finished):
                with contextlib.suppress(OSError):
                    os.unlink(temp)
                return
            self._placed(temp, item)

    def noted(self, item: Item, ids: Iterable[str]) -> None:
        """These sides of it are notes. Not of a turn that goes on: it belongs to the process that leads it."""
        with self._changing():
            now = self._read(_name(item))
            if now is None or now.is_open:
                return
            temp = self._prepared(now._replace(meta={**now.meta, NOTED: sorted(ids)}))
            self._placed(temp, now)

    def drop(self, item: Item) -> None:
        """As if it had never been."""
        with self._changing():
            self._remove(item)

    def done(self, item: Item) -> bool:
        """It is remembered. False where an answer came meanwhile, which is not yet: it stays then."""
        with self._changing():
            if self._is_changed(item):
                return False
            self._remove(item)
            return True

    def put_aside(self, item: Item, why: str) -> None:
        """What cannot be remembered is kept for a person to look at; but where an answer came meanwhile, the turn is
        another one and is tried again."""
        with self._changing():
            if not self._is_changed(item):
                self._set_aside(_name(item), why)

    def waiting(self) -> list[Item]:
        """All that is not remembered yet, in order; those that are open among them."""
        return list(self.each())

    def each(self) -> Iterator[Item]:
        """The same one by one: those that are there now, each read when its turn has come."""
        for name in self._names():
            item = self._read(name)
            if item is not None:
                yield item

    def holds(self, id_: str) -> bool:
        """Whether a turn, by its id, is not remembered yet."""
        return any(name.endswith(f"-{id_}.json") for name in self._names())

    def count(self) -> int:
        """How many are waiting."""
        return len(self._names())

    def broken(self) -> list[str]:
        """The paths of files that were set aside."""
        return [f"{self.folder}/{name}" for name in self._listed() if name.endswith(_BROKEN)]

    def claim(self, *, wait: bool = False) -> AbstractContextManager[None] | None:
        """Be the one who works on them, until the end of the block; None where another one is, but for `wait`: then it
        is waited for, be it a process or a thread of this one."""
        handle = self._lock("worker")
        is_ours = False
        try:
            is_ours = _take(handle, wait=wait)
        finally:  # whoever waits may be interrupted
            if not is_ours:
                os.close(handle)
        if not is_ours:
            return None
        return self._claimed(handle)

    # --- Files

    def _is_changed(self, item: Item) -> bool:
        """Whether more is known of it by now. The caller holds the lock."""
        now = self._read(_name(item))
        seen = (item.assistant, item.finished)
        return now is not None and (now.assistant, now.finished) != seen

    @contextlib.contextmanager
    def _claimed(self, handle: int) -> Iterator[None]:
        try:
            self._sweep()
            yield
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        handle = self._lock("change")
        try:
            _take(handle, wait=True)
            yield
        finally:
            os.close(handle)  # which also gives the lock back

    def _lock(self, name: str) -> int:
        try:
            make_private(self.folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(f"{self.folder}/{name}", flags, 0o600)
        except OSError as error:
            raise StateError(f"{self.folder}/{name} cannot be opened: {error.strerror}") from error

    def _next(self, at: float) -> int:
        """A number that is higher than all there are, also when the clock was set back."""
        names = self._names()
        last = int(names[-1].partition("-")[0]) if names else 0
        return max(int(min(max(at, 0.0), LATEST) * 1e9), last + 1)

    def _put(self, item: Item) -> None:
        """Write the file of an item, whole or not at all."""
        temp = self._prepared(item)
        with self._changing():
            self._placed(temp, item)

    def _prepared(self, item: Item) -> str:
        """The file of an item under another name, on the disk."""
        temp = f"{self.folder}/{item.id}-{os.getpid()}-{next(_temps)}{_TEMPORARY}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            make_private(self.folder)
            handle = os.open(temp, flags, 0o600)
            try:
                write_all(handle, _packed(item))
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise self._unwritten(temp, item, error) from error
        return temp

    def _placed(self, temp: str, item: Item) -> None:
        try:
            os.replace(temp, f"{self.folder}/{_name(item)}")
            fsync_folder(self.folder)
        except OSError as error:
            raise self._unwritten(temp, item, error) from error

    def _unwritten(self, temp: str, item: Item, error: OSError) -> StateError:
        with contextlib.suppress(OSError):
            os.unlink(temp)
        return StateError(f"{self.folder}/{_name(item)} cannot be written: {error.strerror}")

    def _remove(self, item: Item) -> None:
        try:
            os.unlink(f"{self.folder}/{_name(item)}")
        except FileNotFoundError:
            return
        except OSError as error:
            where = f"{self.folder}/{_name(item)}"
            raise StateError(f"{where} cannot be removed: {error.strerror}") from error

    def _names(self) -> list[str]:
        return sorted(name for name in self._listed() if _NAME.fullmatch(name))

    def _listed(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except OSError:
            return []

    def _read(self, name: str) -> Item | None:
        try:
            handle = os.open(f"{self.folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                return _unpacked(file.read(), name)
        except OSError:  # it was just remembered, or cannot be read now
            return None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._set_aside(name, f"it is damaged ({error})")
            return None

    def _set_aside(self, name: str, why: str) -> None:
        kept = f"{self.folder}/{name}{_BROKEN}"
        with contextlib.suppress(OSError):
            os.replace(f"{self.folder}/{name}", kept)
            log.error("a turn of a conversation was set aside as %s: %s", kept, why)

    def _sweep(self) -> None:
        """Remove what writers have left that were killed before anybody was told of their turn."""
        for name in self._listed():
            path = f"{self.folder}/{name}"
            with contextlib.suppress(OSError):
                if name.endswith(_TEMPORARY) and time.time() - os.lstat(path).st_mtime > OPEN_FOR:
                    os.unlink(path)


def _name(item: Item) -> str:
    return f"{item.number:020d}-{item.id}.json"


def _packed(item: Item) -> bytes:
    told: dict[str, object] = {**item._asdict(), "meta": dict(item.meta)}
    for name in ("is_open", "number"):
        del told[name]
    if item.is_open:
        told |= {"pid": os.getpid(), "start": _started(os.getpid())}
    return json.dumps(told, default=str).encode("ascii")


def _unpacked(data: bytes, name: str) -> Item:
    """Raises ValueError, KeyError or TypeError for what is no item."""
    told = json.loads(data)
    if not isinstance(told, dict):
        raise TypeError("no object")
    match = _NAME.fullmatch(name)
    if match is None or told["id"] != match[2]:
        raise ValueError("another id than its name's")
    answer, finished, meta = told["assistant"], told["finished"], told.get("meta")
    texts = (told["conversation"], told["user"], told["user_id"], told["model"])
    if not all(isinstance(each, str) for each in (*texts, answer or "")):
        raise TypeError("a text is none")
    item = Item(
        match[2], told["conversation"], told["user"], answer, float(told["began"]),
        None if finished is None else float(finished),
        told["model"], told["user_id"], meta if isinstance(meta, dict) else {}, int(match[1]),
    )  # fmt: skip
    return item._replace(is_open=item.finished is None and _is_awaited(item, told))


def _is_awaited(item: Item, told: Mapping[str, object]) -> bool:
    """Whether the process that began it may still finish it."""
    if abs(time.time() - item.began) > OPEN_FOR:
        return False
    pid, start = told.get("pid"), told.get("start")
    if not isinstance(pid, int):
        return False
    now = _started(pid)
    return now is not None and isinstance(start, float) and abs(now - start) < _CLOCKS


def _started(pid: int) -> float | None:
    from vaultmem import machine  # an empty queue needs to know of no process

    return machine.started(pid)


def _take(handle: int, *, wait: bool) -> bool:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
