"""The verb `converse`: adds, puts away and marks entries of a conversation, as one batch.

It can be repeated after a kill: entries with known ids are left alone. A conversation changes only its own entries.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from vaultmem.adapter import JsonObject, Properties, Value
from vaultmem.dreams.summaries import is_edited
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.exchange.lines import checked_properties
from vaultmem.memories import conversation as talk
from vaultmem.memories.arguments import CONTROL, MAX_TEXT, Arguments
from vaultmem.memories.conversation import ASSISTANT, ROLES, SUMMARY, Entry
from vaultmem.memories.draft import CREATE, EDIT, TO_ARCHIVE, Change, Plan
from vaultmem.memories.reports import header, report_planned
from vaultmem.memories.store import Session
from vaultmem.notes.places import file_name
from vaultmem.text import secrets
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import fine_stamp, seconds, stamp
from vaultmem.text.titles import conversation_problem, free_path
from vaultmem.vault.batch_record import Header

LONGEST_WHY = 200  # characters of a reason in the history
_NAME = re.compile(r"(?:L[1-3]/)?[a-z][a-z0-9_-]{0,59}")
_KEY = re.compile(r"[^\W\d][\w -]{0,59}")
_FIELDS = frozenset(("role", "content", "created_at", "id", "name", "of", "properties"))
# Properties that define an entry, which a caller may not set.
_RESERVED = frozenset(
    ("id", "role", "phase", "category", "scope", "conversation_id", "created_at", "updated_at", "deleted_at",
     "replaced_by", "agent", "title", "decay_policy", "by", "content_hash")
)  # fmt: skip


class _New(NamedTuple):
    id: str
    role: str
    content: str
    created: float
    name: str  # of a summary, with its level
    of: tuple[str, ...]  # ids of the entries that it is derived from
    properties: Properties

    def own_hash(self) -> dict[str, Value]:
        """The hash of a summary or an answer as we wrote it, by which a person's edit is recognized."""
        is_summary = self.role == SUMMARY or self.properties.get("compression_source") is True
        is_ours = is_summary or self.role == ASSISTANT
        return {"content_hash": content_hash(self.content)} if is_ours else {}


def converse(session: Session, params: Arguments) -> JsonObject:
    """Write new entries, put others away, set properties of others: all or nothing."""
    batch = _Batch(session, params)
    for record in params.records("new"):
        batch.write(batch.new_entry(record))
    for record in params.records("retire"):
        batch.retire(record)
    for record in params.records("mark"):
        batch.mark(record)
    return batch.carry_out()


def conversation_of(params: Arguments) -> str:
    """The id of the conversation. Raises UsageError in one line."""
    conversation = params.needed("conversation")
    if why := conversation_problem(conversation):
        raise UsageError(f"the id of the conversation {why}")
    return conversation


def put_away(session: Session, entry: Entry, by: str, replaced_by: str = "") -> Change:
    """The change that puts an entry away."""
    folder = session.store.folder
    preferred = f"{folder}/{talk.put_away(entry.path[len(folder) + 1 :])}"
    target = free_path(preferred, entry.id, session.view.exists)
    sets: dict[str, Value] = {"deleted_at": stamp(session.now), "by": by}
    if replaced_by:
        sets["replaced_by"] = replaced_by
    why = f"{'replaced' if replaced_by else 'put away'} by {by}"
    return Change(
        TO_ARCHIVE, entry.id, entry.path, target, sets, None, content_hash(entry.content), why
    )


class _Batch:
    """Collects the changes of one request."""

    def __init__(self, session: Session, params: Arguments) -> None:
        self._session, self._params = session, params
        self._conversation = conversation_of(params)
        self._changes: dict[str, tuple[str, Change]] = {}  # changes by target, each with its list
        self._known: dict[str, None] = {}  # ids of entries that need no change
        self._skipped: list[list[str]] = []
        self._redacted: list[str] = []
        self._names: dict[str, str] = {}  # names of the files of new entries, by id

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        """All entries of the conversation by id; live ones take precedence over those put away."""
        result = self._session.store.talks.entries(self._conversation)
        return {entry.id: entry for entry in sorted(result, key=lambda entry: not entry.deleted)}

    @cached_property
    def _who(self) -> Header:
        why = self._params.line("why") or f"turn of conversation {self._conversation}"
        return header(self._params, why[:LONGEST_WHY], self._session.now)

    def _own(self, id_: str) -> Entry:
        entry = self._entries.get(id_)
        if entry is None:
            what = f"{id_[:80]!r} is not an entry of the conversation {self._conversation}"
            raise NoteNotFoundError(f"{what}; nothing was written")
        return entry

    # --- New entries

    def new_entry(self, record: JsonObject) -> _New:
        """Validate a new entry. Raises UsageError."""
        if unknown := sorted(record.keys() - _FIELDS):
            raise UsageError(f"unknown: {unknown[0][:40]!r}; known: {', '.join(sorted(_FIELDS))}")
        role, name = _text(record, "role"), _text(record, "name")
        if not role:
            raise UsageError(f'"role" is missing; one of {", ".join(ROLES)}')
        if role not in ROLES:
            raise UsageError(f"unknown role {role[:40]!r}; there are {', '.join(ROLES)}")
        if bool(name) != (role == SUMMARY) or (name and not _NAME.fullmatch(name)):
            raise UsageError('"name" is that of a summary, such as L1/chunk_0, and of nothing else')
        entry_id = _text(record, "id")
        if not entry_id and name:
            entry_id = talk.derived_id(talk.scope_of(self._conversation), SUMMARY, name)
        entry_id = entry_id or self._session.store.new_id()
        if not talk.is_entry_id(entry_id):
            raise UsageError(
                f"{entry_id[:40]!r} is not a valid id: letters, digits, - and _, 80 at most"
            )
        of = record.get("of") or ()
        if not isinstance(of, (list, tuple)) or not all(isinstance(link, str) for link in of):
            raise UsageError('"of" must be a list of ids')
        created = seconds(record.get("created_at"))
        return _New(
            entry_id, role, self._content(record), self._session.now if created is None else created, name, tuple(of),
            _properties(record),
        )  # fmt: skip

    def _content(self, record: JsonObject) -> str:
        """The content in a form that a note can hold, without secrets."""
        text = record.get("content")
        if not isinstance(text, str):
            raise UsageError('"content" must be text')
        text = CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")
        result = secrets.redact(text)
        self._redacted += result.kinds
        return truncate(result.text)

    def write(self, new: _New) -> None:
        """Add a new entry, or a summary that replaces the previous one."""
        if not new.content.strip():
            self._skipped.append([new.id, "it is empty"])
            return
        name = new.name or talk.name_of(stamp(new.created), new.id)
        place = f"{self._session.store.folder}/{talk.place_of(self._conversation, new.role, name)}"
        before = self._entries.get(new.id)
        if new.role == SUMMARY:
            summary = self._summary(new, place)
            if summary is not None:
                self._replace(summary, new, f"summed up again in {self._conversation}")
                return
        elif before is not None and _continues(before, new):
            self._replace(before, new, "the answer went on")
            return
        elif before is not None or self._session.view.has_id(new.id):
            self._known[new.id] = None
            return
        if place in self._changes:
            self._known[new.id] = None
            return
        self._names[new.id] = file_name(place)
        why = f"said in {self._conversation}"
        properties = {**self._entry_properties(new), **self._link_properties(new)}
        change = Change(CREATE, new.id, None, place, properties, new.content, None, why)
        self._add("written", change)

    def _summary(self, new: _New, place: str) -> Entry | None:
        living = [
            entry for entry in self._entries.values() if not entry.deleted and entry.role == SUMMARY
        ]
        is_whole = new.name == talk.FINAL
        there = [one for one in living if one.path == place or (is_whole and one.is_final)]
        there = there or [entry for entry in living if entry.id == new.id]
        return there[-1] if there else None

    def _replace(self, before: Entry, new: _New, why: str) -> None:
        if is_edited(before):
            self._skipped.append([before.id, "a person has edited it, and their words stay"])
            return
        fields = {**self._link_properties(new), **new.own_hash()}
        sets = {key: value for key, value in fields.items() if before.properties.get(key) != value}
        same = content_hash(before.content) == content_hash(new.content)
        if same and not sets:
            self._known[before.id] = None
            return
        self._add("written", Change(
            EDIT, before.id, before.path, before.path, {**sets, "updated_at": fine_stamp(self._session.now)},
            None if same else new.content, content_hash(before.content), why,
        ))  # fmt: skip

    def _entry_properties(self, new: _New) -> dict[str, Value]:
        fields = talk.basic_properties(new.id, self._conversation, new.role) | {
            "created_at": fine_stamp(new.created), "updated_at": fine_stamp(self._session.now),
        }  # fmt: skip
        if new.role == SUMMARY:  # a level of a conversation has one summary of each name
            fields["title"] = f"{talk.folder_of(self._conversation)} {new.name.replace('/', ' ')}"
        fields |= new.own_hash()
        by = self._params.text("by")
        return {**fields, "agent": by} if by and by != talk.scope_of(self._conversation) else fields

    def _link_properties(self, new: _New) -> dict[str, Value]:
        names = (
            file_name(self._entries[id_].path) if id_ in self._entries else self._names.get(id_)
            for id_ in new.of
        )
        links: list[Value] = [f"[[{name}]]" for name in names if name]
        fields = dict(new.properties)
        return {**fields, "links": links} if links and "links" not in fields else fields

    # --- Existing entries

    def retire(self, record: JsonObject) -> None:
        entry = self._own(_text(record, "id"))
        if entry.deleted:
            self._known[entry.id] = None
            return
        replaced_by = _text(record, "replaced_by")
        if replaced_by and not talk.is_entry_id(replaced_by):
            raise UsageError(f"{replaced_by[:40]!r} is not a valid id")
        change = put_away(self._session, entry, self._who.by, replaced_by)
        sets = {**change.properties, **_properties(record)}
        self._add("retired", change._replace(properties=sets))

    def mark(self, record: JsonObject) -> None:
        entry = self._own(_text(record, "id"))
        fields = _properties(record)
        sets = {key: value for key, value in fields.items() if entry.properties.get(key) != value}
        if entry.deleted or not sets:
            self._known[entry.id] = None
            return
        for kind, other in self._changes.values():
            if other.path == entry.path:
                marked = other._replace(properties={**other.properties, **sets})
                self._changes[other.target] = kind, marked
                return
        why = f"marked in {self._conversation}"
        self._add("marked", Change(EDIT, entry.id, entry.path, entry.path, sets, None, None, why))

    def _add(self, kind: str, change: Change) -> None:
        if change.id not in self._ids(kind):
            self._changes.setdefault(change.target, (kind, change))

    def _ids(self, kind: str) -> list[str]:
        return [change.id for change_kind, change in self._changes.values() if change_kind == kind]

    def carry_out(self) -> JsonObject:
        plan = Plan("converse", tuple(change for _, change in self._changes.values()))
        if self._params.flag("dry_run"):
            return {**report_planned(self._session, plan), **self._report(None)}
        outcome = self._session.carry_out(plan, self._who)
        failed = dict(outcome.skipped)
        for change in plan.changes:
            reason = failed.get(change.path or change.target)
            if reason is not None:
                del self._changes[change.target]
                self._skipped.append([change.id, reason])
        return {"dry_run": False, **self._report(outcome.number)}

    def _report(self, batch: int | None) -> JsonObject:
        lists = {kind: self._ids(kind) for kind in ("written", "retired", "marked")}
        return {
            "conversation_id": self._conversation, **lists, "known": [*self._known], "skipped": self._skipped,
            "redacted": self._redacted, "batch": batch,
        }  # fmt: skip


def _continues(before: Entry, new: _New) -> bool:
    """Whether it is the same answer with more text, unedited by a person."""
    is_answer = before.role == new.role == ASSISTANT and not before.deleted
    is_ours = before.properties.get("content_hash") == content_hash(before.content)
    old, now = before.content.strip(), new.content.strip()
    return is_answer and is_ours and len(now) > len(old) and now.startswith(old)


def _text(record: JsonObject, name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_WHY:
        raise UsageError(f'"{name}" must be a short text')
    return value.strip()


def _properties(record: JsonObject) -> dict[str, Value]:
    """The properties, if a page can hold them and callers may set them. Raises UsageError."""
    if record.get("properties") is None:
        return {}
    try:
        result = checked_properties(record["properties"])
    except VaultmemError as error:
        raise UsageError(str(error)) from error
    for key in result:
        if not _KEY.fullmatch(key) or key.lower().replace("-", "_") in _RESERVED:
            raise UsageError(f"{key[:40]!r} is not a property that can be set on an entry")
    return {key: _printable(value) for key, value in result.items()}


def _printable(value: Value) -> Value:
    """The value with texts that a page can hold."""
    if isinstance(value, str):
        return CONTROL.sub("\ufffd", value)
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    return value


def truncate(text: str) -> str:
    """The text, cut to the limit of an entry: a paste may be a whole book."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_TEXT:
        return text
    beginning = data[:MAX_TEXT].decode("utf-8", "ignore")
    return f"{beginning}\n\n[{len(text) - len(beginning):,} more characters were said]"
