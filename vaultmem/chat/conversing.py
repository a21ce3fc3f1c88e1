"""The verb `converse`: what a conversation adds to its entries, puts away and marks, as one batch.

It can be said again after a kill: what has an id that is known is left alone. A conversation touches no entry but its
own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.exchange.lines import checked_properties
from vaultmem.memories import conversation as talk
from vaultmem.memories.asked import CONTROL, MAX_TEXT, Asked
from vaultmem.memories.conversation import ASSISTANT, ROLES, SUMMARY, Entry
from vaultmem.memories.desk import Session
from vaultmem.memories.draft import CREATE, EDIT, TO_ARCHIVE, Change, Plan
from vaultmem.memories.reports import Report, header, planned
from vaultmem.memories.summaries import is_edited
from vaultmem.text import secrets
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import fine_stamp, seconds, stamp
from vaultmem.text.titles import free_path
from vaultmem.vault.batches import Header
from vaultmem.vault.places import INBOX

LONGEST_WHY = 200  # characters of an entry of the history
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,79}")  # it becomes part of a file's name
_NAME = re.compile(r"(?:L[1-3]/)?[a-z][a-z0-9_-]{0,59}")
_KEY = re.compile(r"[^\W\d][\w -]{0,59}")
_ABOUT = frozenset(("role", "content", "created_at", "id", "name", "of", "properties"))
# What says what an entry is, which nobody may say otherwise.
_OURS = frozenset(
    ("id", "role", "phase", "category", "scope", "conversation_id", "created_at", "updated_at", "deleted_at",
     "replaced_by", "agent", "title", "decay_policy", "by", "content_hash")
)  # fmt: skip


class _Given(NamedTuple):
    """An entry that is to be written."""

    id: str
    role: str
    content: str
    created: float
    name: str  # of a summary, with its level
    of: tuple[str, ...]  # ids of the entries that it follows from
    properties: Mapping[str, Value]


def converse(session: Session, asked: Asked) -> Report:
    """Write new entries, put others away, and set properties of others. Raises where an entry is none of this
    conversation's, and then nothing is done."""
    work = _Work(session, asked)
    for each in asked.records("new"):
        work.write(work.given(each))
    for each in asked.records("retire"):
        work.retire(each)
    for each in asked.records("mark"):
        work.mark(each)
    return work.done()


def conversation_of(asked: Asked) -> str:
    """The id of the conversation that is meant. Raises UsageError in one line."""
    given = asked.needed("conversation")
    if why := talk.problem(given):
        raise UsageError(f"the id of the conversation {why}")
    return given


def away(session: Session, one: Entry, by: str, replaced_by: str = "") -> Change:
    """The change that puts an entry away."""
    folder = session.desk.folder
    wanted = f"{folder}/{talk.put_away(one.path[len(folder) + 1 :])}"
    target = free_path(wanted, one.id, session.view.exists)
    sets: dict[str, Value] = {"deleted_at": stamp(session.now), "by": by}
    if replaced_by:
        sets["replaced_by"] = replaced_by
    said = "replaced" if replaced_by else "put away"
    return Change(
        TO_ARCHIVE,
        one.id,
        one.path,
        target,
        sets,
        None,
        content_hash(one.content),
        f"{said} by {by}",
    )


class _Work:
    """One request as it comes together."""

    def __init__(self, session: Session, asked: Asked) -> None:
        self.session, self.asked = session, asked
        self.conversation = conversation_of(asked)
        self.changes: dict[str, Change] = {}  # by the target
        self.lists: dict[str, list[str]] = {
            name: [] for name in ("written", "retired", "marked", "known")
        }
        self.skipped: list[list[str]] = []
        self.redacted: list[str] = []
        self._kinds: dict[str, str] = {}  # by the target, which list the id belongs to
        self._names: dict[str, str] = {}  # of the files of new entries, by id

    # --- What there is

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """All of the conversation by id, those that live before those that were put away."""
        found = self.session.desk.talks.entries(self.conversation)
        ordered = sorted(found, key=lambda one: not one.deleted)
        return {one.id: one for one in ordered}

    @cached_property
    def who(self) -> Header:
        """Who asks, and why."""
        why = self.asked.told("why") or f"turn of conversation {self.conversation}"
        return header(self.asked, why[:LONGEST_WHY], self.session.now)

    def _own(self, id_: str) -> Entry:
        one = self.entries.get(id_)
        if one is None:
            said = f"{id_[:80]!r} is no entry of the conversation {self.conversation}"
            raise NoteNotFoundError(f"{said}; nothing was written")
        return one

    # --- What is asked for

    def given(self, told: Mapping[str, object]) -> _Given:
        """One new entry, checked. Raises UsageError."""
        if unknown := sorted(told.keys() - _ABOUT):
            raise UsageError(f"unknown: {unknown[0][:40]!r}; known: {', '.join(sorted(_ABOUT))}")
        role = _text(told, "role")
        if role and role not in ROLES:
            raise UsageError(f"unknown role {role[:40]!r}; there are {', '.join(ROLES)}")
        if not role:
            raise UsageError(f'"role" is missing; one of {", ".join(ROLES)}')
        name = _text(told, "name")
        if bool(name) != (role == SUMMARY) or (name and not _NAME.fullmatch(name)):
            raise UsageError('"name" is that of a summary, such as L1/chunk_0, and of nothing else')
        own = _text(told, "id") or self._new_id(name)
        if not _ID.fullmatch(own):
            raise UsageError(f"{own[:40]!r} can be no id: letters, digits, - and _, 80 at most")
        created = seconds(told.get("created_at"))
        of = told.get("of") or ()
        if not isinstance(of, (list, tuple)) or not all(isinstance(one, str) for one in of):
            raise UsageError('"of" must be a list of ids')
        return _Given(
            own, role, self._content(told), self.session.now if created is None else created, name, tuple(of),
            _properties(told),
        )  # fmt: skip

    def _new_id(self, name: str) -> str:
        if name:
            return talk.derived_id(talk.scope_of(self.conversation), SUMMARY, name)
        return self.session.desk.new_id()

    def _content(self, told: Mapping[str, object]) -> str:
        """The words as a note can hold them, without secrets."""
        text = told.get("content")
        if not isinstance(text, str):
            raise UsageError('"content" must be text')
        text = CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")
        found = secrets.redacted(text)
        self.redacted += found.kinds
        return bounded(found.text)

    def write(self, new: _Given) -> None:
        """A new entry, or a summary in the place of the one before."""
        if not new.content.strip():
            self.skipped.append([new.id, "it is empty"])
            return
        place = self._path(new)
        if new.role == SUMMARY:
            before = self._summary(new, place)
            if before is not None:
                self._replace(before, new, f"summed up anew in {self.conversation}")
                return
        elif new.id in self.entries and _goes_on(self.entries[new.id], new):
            self._replace(self.entries[new.id], new, "the answer went on")
            return
        elif new.id in self.entries or self.session.view.has_id(new.id):
            self._list("known", new.id)
            return
        if place in self.changes:
            self._list("known", new.id)
            return
        self._names[new.id] = place.rpartition("/")[2].removesuffix(".md")
        why = f"said in {self.conversation}"
        properties = {**self._always(new), **self._linked(new)}
        self._add(
            "written", Change(CREATE, new.id, None, place, properties, new.content, None, why)
        )

    def _path(self, new: _Given) -> str:
        name = new.name or talk.name_of(stamp(new.created), new.id)
        return f"{self.session.desk.folder}/{talk.place_of(self.conversation, new.role, name)}"

    def _summary(self, new: _Given, place: str) -> Entry | None:
        living = [one for one in self.entries.values() if not one.deleted and one.role == SUMMARY]
        found = {one.path: one for one in living}.get(place)
        return found or next((one for one in living if one.id == new.id), None)

    def _replace(self, before: Entry, new: _Given, why: str) -> None:
        if is_edited(before):
            self.skipped.append([before.id, "a person has edited it, and their words stay"])
            return
        sets = {
            key: value
            for key, value in {**self._linked(new), **_written(new)}.items()
            if before.properties.get(key) != value
        }
        same = content_hash(before.content) == content_hash(new.content)
        if same and not sets:
            self._list("known", before.id)
            return
        content = None if same else new.content
        self._add("written", Change(
            EDIT, before.id, before.path, before.path, {**sets, "updated_at": fine_stamp(self.session.now)},
            content, content_hash(before.content), why,
        ))  # fmt: skip

    def _always(self, new: _Given) -> dict[str, Value]:
        """What every entry says of itself. Nobody has vouched for it: so it is in the phase of what is new; it does
        not fade, for conversations have a way of their own to put away what is old."""
        made: dict[str, Value] = {
            "id": new.id, "phase": INBOX, "category": INBOX, "scope": talk.scope_of(self.conversation),
            "decay_policy": "stable", "conversation_id": self.conversation, "role": new.role,
            "created_at": fine_stamp(new.created), "updated_at": fine_stamp(self.session.now),
        }  # fmt: skip
        if new.role == SUMMARY:  # a level has one of each name in every conversation
            made["title"] = f"{talk.folder_of(self.conversation)} {new.name.replace('/', ' ')}"
        made |= _written(new)
        by = self.asked.text("by")
        return {**made, "agent": by} if by and by != talk.scope_of(self.conversation) else made

    def _linked(self, new: _Given) -> dict[str, Value]:
        links: list[Value] = [f"[[{name}]]" for one in new.of if (name := self._name(one))]
        own = dict(new.properties)
        return {**own, "links": links} if links and "links" not in own else own

    def _name(self, id_: str) -> str:
        one = self.entries.get(id_)
        path = one.path if one else self._names.get(id_, "")
        return path.rpartition("/")[2].removesuffix(".md")

    def retire(self, told: Mapping[str, object]) -> None:
        """Put an entry away."""
        one = self._own(_text(told, "id"))
        if one.deleted:
            self._list("known", one.id)
            return
        replaced_by = _text(told, "replaced_by")
        if replaced_by and not _ID.fullmatch(replaced_by):
            raise UsageError(f"{replaced_by[:40]!r} can be no id")
        change = away(self.session, one, self.who.by, replaced_by)
        sets = {**change.properties, **_properties(told)}
        self._add("retired", change._replace(properties=sets))

    def mark(self, told: Mapping[str, object]) -> None:
        """Set properties of an entry."""
        one = self._own(_text(told, "id"))
        given = _properties(told)
        sets = {key: value for key, value in given.items() if one.properties.get(key) != value}
        if one.deleted or not sets:
            self._list("known", one.id)
            return
        other = next((change for change in self.changes.values() if change.path == one.path), None)
        if other is not None:
            self.changes[other.target] = other._replace(properties={**other.properties, **sets})
            return
        why = f"marked in {self.conversation}"
        self._add("marked", Change(EDIT, one.id, one.path, one.path, sets, None, None, why))

    def _add(self, kind: str, change: Change) -> None:
        if change.target in self.changes or change.id in self.lists[kind]:
            return
        self.changes[change.target] = change
        self._kinds[change.target] = kind
        self._list(kind, change.id)

    def _list(self, kind: str, id_: str) -> None:
        if id_ not in self.lists[kind]:
            self.lists[kind].append(id_)

    # --- The end

    def done(self) -> Report:
        """Do it, or say what would be done."""
        plan = Plan("converse", tuple(self.changes.values()))
        if self.asked.flag("dry_run"):
            return {**planned(self.session, plan), **self._report(None)}
        outcome = self.session.carry_out(plan, self.who)
        left = dict(outcome.skipped)
        for change in plan.changes:
            reason = left.get(change.path or change.target)
            if reason is not None:
                self.lists[self._kinds[change.target]].remove(change.id)
                self.skipped.append([change.id, reason])
        return {"dry_run": False, **self._report(outcome.number)}

    def _report(self, batch: int | None) -> Report:
        return {
            "conversation_id": self.conversation, **self.lists, "skipped": self.skipped, "redacted": self.redacted,
            "batch": batch,
        }  # fmt: skip


def _goes_on(before: Entry, new: _Given) -> bool:
    """Whether it is the same answer and more of it: what was written while it came, and not what a person has made of
    it."""
    is_answer = before.role == new.role == ASSISTANT and not before.deleted
    is_ours = before.properties.get("content_hash") == content_hash(before.content)
    old, now = before.content.strip(), new.content.strip()
    return is_answer and is_ours and len(now) > len(old) and now.startswith(old)


def _written(new: _Given) -> dict[str, Value]:
    """How we wrote a summary or an answer, to know it from what a person has made of it."""
    is_summary = new.role == SUMMARY or new.properties.get("compression_source") is True
    is_known = is_summary or new.role == ASSISTANT
    return {"content_hash": content_hash(new.content)} if is_known else {}


def _text(told: Mapping[str, object], name: str) -> str:
    given = told.get(name)
    if given is None:
        return ""
    if not isinstance(given, str) or len(given) > LONGEST_WHY:
        raise UsageError(f'"{name}" must be a short text')
    return given.strip()


def _properties(told: Mapping[str, object]) -> dict[str, Value]:
    """Properties that a page can hold, none of those that are ours to set."""
    given = told.get("properties")
    if given is None:
        return {}
    try:
        found = checked_properties(given)
    except VaultmemError as error:
        raise UsageError(str(error)) from error
    for key in found:
        if not _KEY.fullmatch(key) or key.lower().replace("-", "_") in _OURS:
            raise UsageError(f"{key[:40]!r} is no property that can be given to an entry")
    return {key: _plain(value) for key, value in found.items()}


def _plain(value: Value) -> Value:
    """A value whose texts a page can hold."""
    if isinstance(value, str):
        return CONTROL.sub("\ufffd", value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def bounded(text: str) -> str:
    """As much of a text as an entry keeps: what somebody pastes may be a whole book."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_TEXT:
        return text
    kept = data[:MAX_TEXT].decode("utf-8", "ignore")
    return f"{kept}\n\n[{len(text) - len(kept):,} more characters were said]"
