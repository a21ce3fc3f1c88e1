"""A person's own notes: sets one property or ticks one task because the person asks for it, and changes no other
byte."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from vaultmem.adapter import Completion, JsonObject, Task, Value
from vaultmem.errors import NoteChangedError, NoteNotFoundError, UsageError
from vaultmem.index import catalog_read
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import EDIT, Change, Plan
from vaultmem.memories.item_answers import DONE, OPEN
from vaultmem.memories.model import key_of
from vaultmem.memories.reports import finish
from vaultmem.memories.store import Session
from vaultmem.notes import logseq_properties, pages
from vaultmem.notes.frontmatter import split
from vaultmem.notes.places import OUTLINE, is_our_page
from vaultmem.text import recurrence
from vaultmem.text.sanitize import one_line
from vaultmem.text.values import lazy, normalize_text
from vaultmem.vault.files import decode, digest

if TYPE_CHECKING:
    from datetime import datetime

    from vaultmem.memories.reports import AnswerReport

_PLACE = lazy(r"(.+):([1-9][0-9]{0,6})")
_MOST_NAMED = 5
_MARKDOWN = (".md", ".markdown")  # no other format has properties


# --- Properties


def set_property(session: Session, params: Arguments) -> JsonObject:
    """Set a property of a note, or with "add" give its list one more item."""
    if not params.has("value"):
        raise UsageError("give a value; vaultmem unset removes the property")
    value = params.value("value")
    if params.flag("add"):
        return _edit(session, params, lambda was: was if value in was else [*was, value])
    return _edit(session, params, lambda _: value)


def unset(session: Session, params: Arguments) -> JsonObject:
    """Remove a property from a note, or one item from its list."""
    if not params.has("value"):
        return _edit(session, params, lambda _: None)
    value = params.value("value")
    return _edit(session, params, lambda was: [item for item in was if item != value] or None)


def _edit(session: Session, params: Arguments, new: Callable[[list[Value]], Value]) -> JsonObject:
    path, key = path_of(session, params.needed("note")), params.needed("key")
    if not key.isprintable():
        raise UsageError("the name of a property is one line")
    if session.store.rules.is_mirror(path):
        raise UsageError(f"{path} is written by its editor, which never reads it; change it there")
    if not path.lower().endswith(_MARKDOWN):
        raise UsageError(f"{path} is not a Markdown note; change its properties in your editor")
    data = session.store.bytes_of(path) or b""
    form = session.store.rules.page_style(path)
    was = _value(form, decode(data)[0], key)
    value = new(_items(form, was))
    if isinstance(was, dict) and value is not None:
        raise UsageError(
            f"{key!r} in {path} has properties of its own; change it in your editor, or unset it first"
        )
    raw = pages.edit(form, data, {key: value}, None)
    why = f"{'unset' if value is None else 'set'} {one_line(key)}"
    changes = (Change(EDIT, "", path, path, {}, None, digest(data), why, raw),)
    plan = Plan("set", changes if raw != data else ())
    return finish(session, params, plan, why) or {
        "note": path, "key": key, "was": was, "value": value, "changed": bool(plan.changes),
    }  # fmt: skip


def _value(form: str, text: str, key: str) -> Value:
    properties = pages.read(form, text).properties
    names = {name.casefold(): name for name in properties}
    name = names.get(key.casefold()) or names.get(logseq_properties.spell_key(key)) or key_of(key)
    return properties.get(name)


def _items(form: str, value: Value) -> list[Value]:
    if isinstance(value, list):
        return value
    if form == OUTLINE and isinstance(value, str):
        return logseq_properties.list_items(value, linked=True)
    return [] if value is None else [value]


# --- Tasks


def place(session: Session, text: str) -> tuple[str, int] | None:
    """The note and line that NOTE:LINE names; None for anything else."""
    match = _PLACE.fullmatch(text)
    return (path_of(session, match[1]), int(match[2])) if match else None


def tick(session: Session, params: Arguments, path: str, line: int) -> AnswerReport | None:
    """Tick the task on a line of a note. Returns a report like that of an answer; None if there is no task."""
    standing = find_task(session, path, lambda task: task.line == line)
    if standing is None:
        return None
    text = one_line(standing.task.text)
    report: AnswerReport = {
        "id": f"{path}:{line}", "state": DONE, "text": text, "until": None, "was": OPEN, "changed": True,
        "carried_out": [], "skipped": [], "asks": None,
    }  # fmt: skip
    if standing.is_closed:
        return {**report, "was": DONE, "changed": False}
    if planned := finish(
        session, params, standing.ticked(session, "", session.local_time), f"done: {text}"
    ):
        return {**report, "dry_run": True, "changes": planned["changes"]}
    return {**report, "carried_out": [{"id": "", "text": text, "path": path, "action": DONE}]}


class Standing(NamedTuple):
    """A task as currently in its note."""

    path: str
    data: bytes
    task: Task

    @property
    def is_closed(self) -> bool:
        """Whether it is already done or cancelled."""
        return self.task.done or self.task.cancelled

    def ticked(self, session: Session, id_: str, done_at: datetime) -> Plan:
        """The text with it marked done, as its editor does. Raises NoteChangedError if only the editor can do that."""
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        at = done_at.strftime("%Y-%m-%dT%H:%M")
        done = Completion(at, recurrence.next_day, recurrence.is_over)
        text = self.data[len(mark) :].decode()
        now = session.store.rules.at(self.path).completed(self.path, text, self.task, done)
        if now is None:
            where = f"{self.path}:{self.task.line}"
            raise NoteChangedError(
                f"{where} repeats in a way that only its editor knows; tick it there"
            )
        why, raw = f"done: {one_line(self.task.text)}", mark + now.encode()
        change = Change(EDIT, id_, self.path, self.path, {}, None, digest(self.data), why, raw)
        return Plan("done", (change,))


def find_task(session: Session, path: str, fits: Callable[[Task], bool]) -> Standing | None:
    """The first matching task of a note; None if there is none, or the note is gone."""
    data = session.store.bytes_of(path)
    if data is None:
        return None
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise NoteChangedError(f"{path} is not UTF-8; tick it in your editor") from error
    note = session.store.rules.at(path).parse(path, text, split(text))
    return next((Standing(path, data, task) for task in note.tasks if fits(task)), None)


# --- Which note


def path_of(session: Session, text: str) -> str:
    """The path of the note that a path, title, file name or alias means, among those that the viewer may see."""
    name, viewer = normalize_text(text).strip().removeprefix("/"), session.viewer
    searcher = session.reader.searcher() if viewer.name else None
    but = frozenset(searcher.hidden_from(viewer)) if searcher else frozenset()
    near = {name, f"{name}.md"} - but
    exact = [path for path in sorted(near) if session.store.bytes_of(path) is not None]
    searcher = session.reader.searcher() if not exact else None
    rules = session.store.rules
    named = catalog_read.find_notes(searcher.catalog, text, but, lambda: rules) if searcher else []
    result = exact or named
    if not result:
        raise NoteNotFoundError(f"no note is called {text[:80]!r}; name it by its path")
    if not exact and len(result) > 1:
        several = ", ".join(result[:_MOST_NAMED])
        raise NoteNotFoundError(f"several notes are called {text!r}: {several}; name one by its path")  # fmt: skip
    path = result[0]
    if session.store.rules.kind(path) != "note":
        raise UsageError(f"{path} is not a note of this vault")
    inside = f"{session.store.folder}/"
    if path.startswith(inside) and is_our_page(path[len(inside) :]):
        raise UsageError(f"{path} is written by vaultmem; what you change there is lost")
    return path
