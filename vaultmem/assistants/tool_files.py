"""The commands of the memory tool, carried out on the memory folder: new files are memories, deleting archives."""

from __future__ import annotations

import contextlib
import os

from vaultmem.adapter import Value
from vaultmem.assistants import memory_tool
from vaultmem.assistants.memory_tool import BY, FILENAME, ROOT, Place, Places, composed, edited
from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.draft import CREATE, EDIT, MOVE, TO_ARCHIVE, Change, Plan
from vaultmem.memories.model import CATEGORIES, DEFAULT_SCOPE, INBOX, Memory
from vaultmem.memories.reports import Report, header
from vaultmem.reminders.pending_items import is_approved
from vaultmem.text import secrets
from vaultmem.text.times import stamp
from vaultmem.text.titles import free_path
from vaultmem.vault.files import digest
from vaultmem.vault.places import ARCHIVED_NOTES

ELSEWHERE = "knowledge"  # the category of files in no folder of a category: dreams leave them where they are
LEVELS = 2


def view(session: Session, asked: Asked) -> Report:
    """A file with line numbers, or a folder."""
    command = memory_tool.command_of(asked.needed("command"))
    given = memory_tool.text(command, "path")
    places = Places(session)
    place = places.find(memory_tool.inner(given))
    if place is None and memory_tool.inner(given):
        raise memory_tool.missing(given)
    if place is None:  # nothing was ever written
        return {"text": memory_tool.listing(given, 0, [])}
    if not place.is_folder:
        shown = memory_tool.numbered(given, places.text(place), command.get("view_range"))
        return {"text": shown}
    start = len(place.inner) + 1 if place.inner else 0
    inside = list(places.inside(place, LEVELS))
    items = [
        (
            places.size(each) if number < memory_tool.MOST_LISTED else 0,
            each.inner[start:] + "/" * each.is_folder,
        )
        for number, each in enumerate(inside)
    ]
    return {"text": memory_tool.listing(given, places.size(place), items)}


def change(session: Session, asked: Asked) -> Report:
    """create, str_replace, insert, delete or rename; "text" is what the model is told."""
    command = memory_tool.command_of(asked.needed("command"))
    done = {
        "create": _create,
        "str_replace": _str_replace,
        "insert": _insert,
        "delete": _delete,
        "rename": _rename,
    }.get(str(command.get("command")))
    if done is None:
        raise VaultmemError(f"Unknown command: {str(command.get('command'))[:40]}")
    return {"text": done(_Work(session, asked), command)}


class _Work:
    """What one command works with."""

    def __init__(self, session: Session, asked: Asked) -> None:
        self.session, self.asked = session, asked
        self.places = Places(session)
        self.by = asked.text("by") or BY
        self.now = stamp(session.now)

    def memory(self, place: Place) -> Memory | None:
        """The memory in a file, if it is one."""
        return self.session.desk.collection.at(place.path)

    def carry_out(self, why: str, changes: list[Change]) -> None:
        """As one batch, all of it or an error."""
        who = header(self.asked, why, self.session.now)._replace(by=self.by, kind="assistant")
        outcome = self.session.carry_out(Plan("tool", tuple(changes)), who)
        if outcome.skipped:
            raise NoteChangedError(outcome.skipped[0][1])

    def touched(self, memory: Memory | None) -> dict[str, Value]:
        """Properties that say who edited: what an assistant has written into is no longer the person's word alone."""
        if memory is None:
            return {"agent": self.by}
        self.refuse_approved(memory)
        ours = {} if memory.text("agent") else {"agent": self.by}
        return {**ours, "updated_at": self.now}

    def refuse_approved(self, memory: Memory) -> None:
        """What a person has approved must not become something else under their word."""
        if is_approved(memory.id, self.session.desk.waiting.record.answers()):
            raise VaultmemError(
                f"{memory.title!r} was approved by a person and cannot be edited; write another file"
            )


def _create(work: _Work, command: dict[str, object]) -> str:
    given = memory_tool.text(command, "path")
    content = _without_secrets(memory_tool.checked(memory_tool.text(command, "file_text")))
    inner = memory_tool.inner(given)
    if not inner or work.places.find(inner) is not None:
        raise VaultmemError(f"File {given} already exists")
    path, filename = work.places.new(inner)
    top = inner.partition("/")[0] if "/" in inner else ""
    category = top if top in CATEGORIES else ELSEWHERE
    own = work.session.desk.new_id()
    properties: dict[str, Value] = {
        "id": own,
        "phase": "inbox" if category == INBOX else "organized",
        "category": category,
        "scope": DEFAULT_SCOPE,
        "agent": work.by,
        "created_at": work.now,
        "updated_at": work.now,
        **({FILENAME: filename} if filename else {}),
    }
    data = composed(work.places.style(path), properties, content)
    why = f"create {given}"
    work.carry_out(why, [Change(CREATE, own, None, path, {}, None, None, why, data)])
    return f"File created successfully at: {given}"


def _without_secrets(text: str) -> str:
    """An assistant writes what it has read somewhere."""
    return secrets.redacted(text).text


def _file(work: _Work, given: str) -> tuple[Place, str]:
    """A file that may be edited, and its text."""
    place = work.places.find(memory_tool.inner(given))
    if place is None:
        raise memory_tool.missing(given)
    if place.is_folder:
        raise VaultmemError(f"The path {given} is not a file.")
    text = work.places.text(place)
    if not work.places.style(place.path):
        raise VaultmemError(f"The path {given} is no note; it can be viewed, not edited.")
    return place, text


def _edit(work: _Work, place: Place, content: str, why: str) -> None:
    memory = work.memory(place)
    old = work.places.data(place)
    new = edited(work.places.style(place.path), old, work.touched(memory), content)
    own = memory.id if memory else ""
    work.carry_out(
        why, [Change(EDIT, own, place.path, place.path, {}, None, digest(old), why, new)]
    )


def _str_replace(work: _Work, command: dict[str, object]) -> str:
    given = memory_tool.text(command, "path")
    place, content = _file(work, given)
    old, new = (
        memory_tool.text(command, "old_str"),
        _without_secrets(str(command.get("new_str") or "")),
    )
    after, told = memory_tool.replaced(given, content, old, new)
    _edit(work, place, memory_tool.checked(after), f"str_replace in {given}")
    return told


def _insert(work: _Work, command: dict[str, object]) -> str:
    given = memory_tool.text(command, "path")
    place, content = _file(work, given)
    new = _without_secrets(memory_tool.text(command, "insert_text"))
    after = memory_tool.inserted(content, command.get("insert_line"), new)
    _edit(work, place, memory_tool.checked(after), f"insert into {given}")
    return f"The file {given} has been edited."


def _delete(work: _Work, command: dict[str, object]) -> str:
    given = memory_tool.text(command, "path")
    place = work.places.find(memory_tool.inner(given))
    if not memory_tool.inner(given):
        raise VaultmemError(f"Cannot delete the {ROOT} directory itself")
    if place is None:
        raise VaultmemError(f"The path {given} does not exist")
    why = f"delete {given}"
    draft, others = work.session.draft(), []
    for each in _files_of(work, place):
        memory = work.memory(each)
        if memory is None:
            others.append(_put_away(work, each, why))
        else:
            draft.archive(memory, work.by, why)
    changes = [*draft.plan("tool").changes, *others]
    if changes:
        work.carry_out(why, changes)
    if place.is_folder:
        _remove_empty(f"{work.session.desk.vault}/{place.path}")
    return f"Successfully deleted {given}"


def _files_of(work: _Work, place: Place) -> list[Place]:
    """A file, or all files in a folder."""
    if not place.is_folder:
        return [place]
    return [each for each in work.places.inside(place, 100) if not each.is_folder]


def _put_away(work: _Work, place: Place, why: str) -> Change:
    """A file that is no memory goes to the archive, too."""
    data = work.places.data(place)
    kept = place.path[len(work.places.folder) + 1 :]
    wanted = f"{work.places.folder}/{ARCHIVED_NOTES}/{kept}"
    target = free_path(wanted, work.session.desk.new_id(), work.session.view.exists)
    return Change(TO_ARCHIVE, "", place.path, target, {}, None, digest(data), why, data)


def _remove_empty(folder: str) -> None:
    for place, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # hidden files are left in it
            os.rmdir(place)


def _rename(work: _Work, command: dict[str, object]) -> str:
    old, new = memory_tool.text(command, "old_path"), memory_tool.text(command, "new_path")
    place, target = work.places.find(memory_tool.inner(old)), memory_tool.inner(new)
    if not memory_tool.inner(old):
        raise VaultmemError(f"Cannot rename the {ROOT} directory itself")
    if not target or work.places.find(target) is not None:
        raise VaultmemError(f"The destination {new} already exists")
    if place is None:
        raise VaultmemError(f"The path {old} does not exist")
    if f"{target}/".startswith(f"{place.inner}/"):
        raise VaultmemError(f"The path {old} cannot be moved into itself")
    why = f"rename {old} to {new}"
    files = _files_of(work, place)
    changes = [_moved(work, each, target + each.inner[len(place.inner) :], why) for each in files]
    if changes:
        work.carry_out(why, changes)
    if place.is_folder:
        work.places.new(f"{target}/x.md")  # refuses what may not be
        _rename_folders(work, place.path, f"{work.places.folder}/{target}")
    return f"Successfully renamed {old} to {new}"


def _moved(work: _Work, place: Place, inner: str, why: str) -> Change:
    """One file that is to be called otherwise."""
    memory = work.memory(place)
    path, filename = work.places.new(inner)
    if memory is None:
        if not place.path.endswith(".md"):
            path = path.removesuffix(".md")
        data = work.places.data(place)
        return Change(MOVE, "", place.path, path, {}, None, digest(data), why, data)
    sets = {**work.touched(memory), FILENAME: filename}
    top = inner.partition("/")[0] if "/" in inner else ""
    category = top if top in CATEGORIES else memory.category
    sets |= {"category": category, "phase": "inbox" if category == INBOX else "organized"}
    return Change(MOVE, memory.id, place.path, path, sets, None, memory.hash, why)


def _rename_folders(work: _Work, old: str, new: str) -> None:
    """Empty folders go along."""
    vault = work.session.desk.vault
    for place, _, _ in os.walk(f"{vault}/{old}"):
        os.makedirs(f"{vault}/{new}{place[len(f'{vault}/{old}') :]}", exist_ok=True)
    _remove_empty(f"{vault}/{old}")
