"""The files of chats in the state folder: the queue of turns to learn from, and the proxy's counts.

<state>/turns/<number>-<id>.json   one turn each, on the disk before anybody hears of it, in order
<state>/turns/worker               flock of the one process that works on them
<state>/turns/change               flock of the process that replaces or removes a file
<state>/proxy.json                 how many chats got memories since the proxy started; no word of a chat
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vaultmem import now
from vaultmem.adapter import JsonObject
from vaultmem.errors import StateError
from vaultmem.memories.conversation import ASSISTANT, USER, derived_id
from vaultmem.paths import FolderLock, make_private, read_json, replace_private

log = logging.getLogger("vaultmem.turns")

FACTS = "facts"  # in an item's meta: the facts in the user's words
NOTED = "noted"  # in an item's meta: the ids of its notes
SERVICE = "service"  # in an item's meta: the origin of the model service that it was sent to
FOLDER = "turns"  # in the state folder
OPEN_FOR = 600.0  # seconds after which no answer is expected
_BEGAN = time.time()  # of this process
LATEST = 9e9  # tolerance for a wrong clock
_NAME = re.compile(r"(\d{20})-([0-9a-f-]{36})\.json")
_BROKEN, _TEMPORARY = ".broken", ".tmp"


class Item(NamedTuple):
    """One turn: the user's words, and the answer if it is known. Times are in seconds since the epoch."""

    id: str
    conversation: str
    user: str
    assistant: str | None  # None when no complete answer arrived
    began: float
    finished: float | None
    model: str = ""  # the model that answers
    user_id: str = ""  # of the user's turn
    meta: Mapping[str, object] = {}
    number: int = 0  # its number in the queue
    is_open: bool = False  # an answer may still come

    @property
    def assistant_id(self) -> str:
        """The id of the assistant's turn."""
        return derived_id(self.id, ASSISTANT)

    def texts(self, name: str) -> list[str]:
        """The texts that an earlier attempt stored with it: FACTS or NOTED."""
        result = self.meta.get(name)
        return (
            [text for text in result if isinstance(text, str)] if isinstance(result, list) else []
        )

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.number:020d}-{self.id}.json"


class Turns:
    """The queue in a folder. Any thread of any process may use it. Raises StateError if it cannot be written."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def begin(
        self, conversation: str, user_text: str, at: float, *,
        user_id: str | None = None, meta: JsonObject | None = None,
    ) -> Item:  # fmt: skip
        """Durably store the beginning of a turn. `user_id` is that of an earlier turn that is answered again."""
        turn_id, about = str(uuid.uuid4()), dict(meta or {})
        model = str(about.get("model") or "")
        item = Item(
            turn_id, conversation, user_text, None, at, None, model,
            user_id or derived_id(turn_id, USER), about, self._next_number(at), is_open=True,
        )  # fmt: skip
        return self._save(item)

    def finish(self, item: Item, assistant_text: str, at: float) -> Item:
        """Durably store the answer."""
        return self._save(item._replace(assistant=assistant_text, finished=at, is_open=False))

    def close(self, item: Item, at: float) -> None:
        """End a turn without a complete answer; the user's words stay."""
        self._save(item._replace(finished=at, is_open=False))

    def add(self, item: Item, name: str, texts: Iterable[str]) -> None:
        """Store texts with a turn, for the next attempt. An open turn is not changed: it belongs to the process that
        serves it."""
        with self._changing():
            now = self._read(item.name)
            if now is not None and not now.is_open:
                self._write(now._replace(meta={**now.meta, name: list(texts)}))

    def done(self, item: Item) -> bool:
        """Remove a turn that was learned from. Returns False, and keeps it, if an answer arrived meanwhile."""
        with self._changing():
            if self._is_changed(item):
                return False
            try:
                os.unlink(f"{self.folder}/{item.name}")
            except FileNotFoundError:
                pass
            except OSError as error:
                where = f"{self.folder}/{item.name}"
                raise StateError(f"{where} cannot be removed: {error.strerror}") from error
            return True

    def put_aside(self, item: Item, why: str) -> None:
        """Set aside a turn that cannot be learned from, for a person; if an answer arrived meanwhile, it is tried
        again."""
        with self._changing():
            if not self._is_changed(item):
                self._set_aside(item.name, why)

    def waiting(self) -> list[Item]:
        """All turns in the queue, in order, including open ones."""
        return list(self.each())

    def each(self) -> Iterator[Item]:
        """Yield the turns that are in the queue now, each read when it is reached."""
        for name in self._names():
            item = self._read(name)
            if item is not None:
                yield item

    def holds(self, id_: str) -> bool:
        """Whether a turn, by its id, is in the queue."""
        return any(name.endswith(f"-{id_}.json") for name in self._names())

    def count(self) -> int:
        """The number of turns in the queue."""
        return len(self._names())

    def broken(self) -> list[str]:
        """The paths of files that were set aside."""
        return [f"{self.folder}/{name}" for name in self._list_files() if name.endswith(_BROKEN)]

    @contextlib.contextmanager
    def claim(self, *, wait: bool = False) -> Iterator[bool]:
        """Become the only worker until the end of the block. Gives False if there is another one, unless `wait`."""
        with self._locked("worker", wait=wait) as is_ours:
            if is_ours:
                self._sweep()
            yield is_ours

    # --- Files

    def _changing(self) -> contextlib.AbstractContextManager[bool]:
        return self._locked("change", wait=True)

    @contextlib.contextmanager
    def _locked(self, name: str, *, wait: bool) -> Iterator[bool]:
        """Hold a lock during the block. Gives False if another process or thread holds it, unless `wait`."""
        with contextlib.ExitStack() as held:
            try:
                lock = FolderLock(make_private(self.folder), name, wait=wait)
                is_ours = held.enter_context(lock)
            except OSError as error:
                where = f"{self.folder}/{name}"
                raise StateError(f"{where} cannot be locked: {error.strerror}") from error
            yield is_ours

    def _is_changed(self, item: Item) -> bool:
        """Whether another answer was stored since it was read. The caller holds the lock."""
        now = self._read(item.name)
        if now is None:
            return False
        return (now.assistant, now.finished) != (item.assistant, item.finished)

    def _next_number(self, at: float) -> int:
        """A number higher than any in the queue, even when the clock was set back."""
        names = self._names()
        last = int(names[-1].partition("-")[0]) if names else 0
        return max(int(min(max(at, 0.0), LATEST) * 1e9), last + 1)

    def _save(self, item: Item) -> Item:
        with self._changing():
            now = self._read(item.name)
            if now is not None:  # with what was added to it meanwhile
                item = item._replace(meta={**item.meta, **now.meta})
            self._write(item)
        return item

    def _write(self, item: Item) -> None:
        path = f"{self.folder}/{item.name}"
        try:
            replace_private(path, _pack(item), sync=True)
        except OSError as error:
            raise StateError(f"{path} cannot be written: {error.strerror}") from error

    def _names(self) -> list[str]:
        return sorted(name for name in self._list_files() if _NAME.fullmatch(name))

    def _list_files(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except OSError:
            return []

    def _read(self, name: str) -> Item | None:
        try:
            handle = os.open(f"{self.folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                return _unpack(file.read(), name)
        except OSError:  # just removed, or unreadable now
            return None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._set_aside(name, f"it is damaged ({error})")
            return None

    def _set_aside(self, name: str, why: str) -> None:
        aside = f"{self.folder}/{name}{_BROKEN}"
        with contextlib.suppress(OSError):
            os.replace(f"{self.folder}/{name}", aside)
            log.error("a turn of a conversation was set aside as %s: %s", aside, why)

    def _sweep(self) -> None:
        """Remove the temporary files of killed writers."""
        for name in self._list_files():
            path = f"{self.folder}/{name}"
            with contextlib.suppress(OSError):
                if name.endswith(_TEMPORARY) and time.time() - os.lstat(path).st_mtime > OPEN_FOR:
                    os.unlink(path)


def _pack(item: Item) -> str:
    fields: dict[str, object] = {**item._asdict(), "meta": dict(item.meta)}
    for name in ("is_open", "number"):
        del fields[name]
    if item.is_open:
        fields["pid"] = os.getpid()
    return json.dumps(fields, default=str)


def _unpack(data: bytes, name: str) -> Item:
    """Raises ValueError, KeyError or TypeError for anything that is not an item."""
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise TypeError("no object")
    match = _NAME.fullmatch(name)
    if match is None or fields["id"] != match[2]:
        raise ValueError("another id than its name's")
    answer, finished, meta = fields["assistant"], fields["finished"], fields.get("meta")
    texts = (fields["conversation"], fields["user"], fields["user_id"], fields["model"])
    if not all(isinstance(text, str) for text in (*texts, answer or "")):
        raise TypeError("a text is none")
    item = Item(
        match[2], fields["conversation"], fields["user"], answer, float(fields["began"]),
        None if finished is None else float(finished), fields["model"], fields["user_id"],
        meta if isinstance(meta, dict) else {}, int(match[1]),
    )  # fmt: skip
    return item._replace(is_open=item.finished is None and _is_awaited(item, fields.get("pid")))


def _is_awaited(item: Item, pid: object) -> bool:
    """Whether the process that began it may still finish it."""
    if abs(time.time() - item.began) > OPEN_FOR or not isinstance(pid, int):
        return False
    if pid == os.getpid():  # in a container, that of a killed one was the same
        return item.began > _BEGAN
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


# Counts of the proxy

COUNTS = "proxy.json"
RECALLED, NOTHING = "told", "nothing"
OUTCOMES = (RECALLED, NOTHING, "slow", "busy", "failed")


class ChatCounts:
    """The counts of one proxy. Thread-safe."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._counts: dict[str, int] = {"since": int(now.seconds()), **dict.fromkeys(OUTCOMES, 0)}
        self._lock = threading.Lock()
        self._write()

    def add(self, outcome: str) -> None:
        """Count a chat with this outcome."""
        with self._lock:
            self._counts[outcome] += 1
            self._write()

    def _write(self) -> None:
        """Atomically write the counts; a power cut may lose the last ones."""
        path = f"{self._folder}/{COUNTS}"
        try:
            make_private(self._folder)
            replace_private(path, json.dumps(self._counts))
        except OSError as error:
            log.debug("the counts of chats cannot be written: %s", error)


def read_counts(folder: str) -> dict[str, int] | None:
    """The counts of the latest proxy; None if there was none."""
    result = read_json(f"{folder}/{COUNTS}")
    try:
        return {name: int(result[name]) for name in ("since", *OUTCOMES)}
    except (ValueError, KeyError, TypeError):
        return None
