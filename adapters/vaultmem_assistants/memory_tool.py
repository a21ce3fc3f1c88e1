"""The commands of the memory tool of Anthropic's API on the memory folder: new files are memories, and deleted ones
are archived.

Semantics and messages are those of the local file tool in Anthropic's own Python SDK (memory_20250818), as models
expect them. Errors are VaultmemErrors with the message for the model.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from itertools import islice

from vaultmem.adapter import JsonObject, Value
from vaultmem.errors import VaultmemError
from vaultmem.memories.arguments import MAX_CONTENT, Arguments, find_control
from vaultmem.memories.draft import CREATE, EDIT, MOVE, TO_ARCHIVE, Change, Plan
from vaultmem.memories.model import CATEGORIES, DEFAULT_SCOPE, Memory
from vaultmem.memories.reports import header
from vaultmem.memories.store import Session
from vaultmem.notes.places import ARCHIVED_NOTES, phase_of
from vaultmem.text import secrets
from vaultmem.text.sanitize import not_run
from vaultmem.text.times import stamp
from vaultmem.text.titles import free_path
from vaultmem.text.values import json_object
from vaultmem.vault.files import digest
from vaultmem_assistants.tool_files import (
    FILENAME,
    ROOT,
    Folder,
    Place,
    compose_file,
    edited,
    inner_path,
)

ELSEWHERE = "knowledge"  # the category of files in no folder of a category: dreams leave them where they are
LEVELS = 2
MOST_LINES = 999_999
MOST_LISTED = 1_000  # files and folders in the listing of a folder
MOST_PLACES = 100  # named where a text occurs more than once
_WIDTH = len(str(MOST_LINES))
_AROUND = 2  # lines around a change in the answer


def view(session: Session, params: Arguments) -> JsonObject:
    """A file with line numbers, or a folder."""
    return {"text": _Tool(session, params).view()}


def change(session: Session, params: Arguments) -> JsonObject:
    """Run create, str_replace, insert, delete or rename; "text" is the answer to the model."""
    tool = _Tool(session, params)
    commands: dict[str, Callable[[], str]] = {
        "create": tool.create, "str_replace": tool.str_replace, "insert": tool.insert, "delete": tool.delete,
        "rename": tool.rename,
    }  # fmt: skip
    name = str(tool.command.get("command"))
    if name not in commands:
        raise VaultmemError(f"Unknown command: {name[:40]}")
    return {"text": commands[name]()}


class _Tool:
    def __init__(self, session: Session, params: Arguments) -> None:
        self.command: dict[str, object] = json_object(params.needed("command"))
        if not self.command:
            raise VaultmemError("a command of the memory tool is an object of JSON")
        self.session, self.params = session, params
        self.folder = Folder(session)
        self.by = session.viewer.name
        self.now = stamp(session.now)

    def view(self) -> str:
        path = self._text("path")
        inner = inner_path(path)
        place = self.folder.find(inner)
        if place is None and inner:
            raise _missing(path)
        if place is None:  # the folder does not exist yet
            return _listing(path, 0, [])
        if not place.is_folder:
            return _numbered_file(path, self.folder.text(place), self.command.get("view_range"))
        start = len(place.inner) + 1 if place.inner else 0
        inside = list(self.folder.inside(place, LEVELS))
        sizes = [*map(self.folder.size, inside[:MOST_LISTED]), *([0] * len(inside[MOST_LISTED:]))]
        names = (entry.inner[start:] + "/" * entry.is_folder for entry in inside)
        items = list(zip(sizes, names, strict=True))
        return _listing(path, self.folder.size(place), items)

    def create(self) -> str:
        path = self._new_path("path")
        content = secrets.redact_foreign(_check(self._text("file_text"))).text
        inner = inner_path(path)
        if not inner or self.folder.find(inner) is not None:
            raise VaultmemError(f"File {path} already exists")
        target, filename = self.folder.new(inner)
        category = _category_in(inner, ELSEWHERE)
        new_id = self.session.store.new_id()
        properties: dict[str, Value] = {
            "id": new_id, **_filing_properties(category), "scope": DEFAULT_SCOPE, "agent": self.by,
            "created_at": self.now, "updated_at": self.now, **({FILENAME: filename} if filename else {}),
        }  # fmt: skip
        data = compose_file(self.folder.style(target), properties, content)
        why = f"create {path}"
        self._carry_out(why, [Change(CREATE, new_id, None, target, {}, None, None, why, data)])
        return f"File created successfully at: {path}"

    def str_replace(self) -> str:
        """Replace `old_str`, which must occur exactly once in the file."""
        path = self._text("path")
        place, content = self._file(path)
        old = self._text("old_str")
        new = secrets.redact_foreign(str(self.command.get("new_str") or "")).text
        count = content.count(old)
        if count == 0:
            why = f"old_str `{old}` did not appear verbatim in {path}."
            raise VaultmemError(f"No replacement was performed, {why}")
        if count > 1:
            matches = re.finditer(f"(?={re.escape(old)})", content)
            starts = (result.start() for result in islice(matches, MOST_PLACES))
            lines = ", ".join(str(content[:at].count("\n") + 1) for at in starts)
            lines += ", …" if count > MOST_PLACES else ""
            why = f"Multiple occurrences of old_str `{old}` in lines: {lines}"
            raise VaultmemError(f"No replacement was performed. {why}. Please ensure it is unique")
        line = content[: content.find(old)].count("\n")
        after = _with_plain_code(content, content.replace(old, new))
        self._edit(place, after, f"str_replace in {path}")
        first = max(0, line - _AROUND)
        snippet = _number_lines(after.split("\n")[first : line + _AROUND + 1], first + 1)
        done = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([done, *snippet])

    def insert(self) -> str:
        path = self._text("path")
        place, content = self._file(path)
        new = secrets.redact_foreign(self._text("insert_text")).text
        line = self.command.get("insert_line")
        lines = content.split("\n")
        if lines[-1] == "":
            lines.pop()
        if isinstance(line, bool) or not isinstance(line, int) or not 0 <= line <= len(lines):
            hint = f"It should be within the range [0, {len(lines)}]."
            raise VaultmemError(f"Invalid `insert_line` parameter: {line}. {hint}")
        lines.insert(line, new.rstrip("\n"))
        after = _with_plain_code(content, "\n".join(lines))
        self._edit(place, after if after.endswith("\n") else f"{after}\n", f"insert into {path}")
        return f"The file {path} has been edited."

    def delete(self) -> str:
        path = self._text("path")
        inner = inner_path(path)
        place = self.folder.find(inner)
        if not inner:
            raise VaultmemError(f"Cannot delete the {ROOT} directory itself")
        if place is None:
            raise VaultmemError(f"The path {path} does not exist")
        why = f"delete {path}"
        draft, others = self.session.draft(), []
        for file in self._files_of(place):
            memory = self._memory(file)
            if memory is None:
                others.append(self._put_away(file, why))
            else:
                draft.archive(memory, self.by, why)
        self._carry_out(why, [*draft.plan("tool").changes, *others])
        if place.is_folder:
            _remove_empty(f"{self.session.store.vault}/{place.path}")
        return f"Successfully deleted {path}"

    def rename(self) -> str:
        old, new = self._text("old_path"), self._new_path("new_path")
        inner, target = inner_path(old), inner_path(new)
        place = self.folder.find(inner)
        if not inner:
            raise VaultmemError(f"Cannot rename the {ROOT} directory itself")
        if not target or self.folder.find(target) is not None:
            raise VaultmemError(f"The destination {new} already exists")
        if place is None:
            raise VaultmemError(f"The path {old} does not exist")
        if f"{target}/".startswith(f"{place.inner}/"):
            raise VaultmemError(f"The path {old} cannot be moved into itself")
        why = f"rename {old} to {new}"
        files, start = self._files_of(place), len(place.inner)
        self._carry_out(
            why, [self._relocate(file, target + file.inner[start:], why) for file in files]
        )
        if place.is_folder:
            self.folder.new(f"{target}/x.md")  # refuses reserved paths
            vault, path = self.session.store.vault, f"{self.folder.path}/{target}"
            for parent, _, _ in os.walk(f"{vault}/{place.path}"):  # including empty folders
                rest = parent[len(f"{vault}/{place.path}") :]
                os.makedirs(f"{vault}/{path}{rest}", exist_ok=True)
            _remove_empty(f"{vault}/{place.path}")
        return f"Successfully renamed {old} to {new}"

    # --- Shared by the commands

    def _text(self, name: str) -> str:
        value = self.command.get(name)
        if not isinstance(value, str):
            raise VaultmemError(f"`{name}` is missing, or not text")
        return value

    def _new_path(self, name: str) -> str:
        """The path parameter of a new file; remembers its name."""
        return secrets.redact_foreign(self._text(name)).text

    def _file(self, path: str) -> tuple[Place, str]:
        """An editable file, and its text."""
        place = self.folder.find(inner_path(path))
        if place is None:
            raise _missing(path)
        if place.is_folder:
            raise VaultmemError(f"The path {path} is not a file.")
        text = self.folder.text(place)
        if not self.folder.style(place.path):
            raise VaultmemError(f"The path {path} is not a note; it can be viewed, not edited.")
        return place, text

    def _edit(self, place: Place, content: str, why: str) -> None:
        memory, old = self._memory(place), self.folder.data(place)
        content = _check(content)
        new = edited(self.folder.style(place.path), old, self._edit_marks(memory), content)
        memory_id = memory.id if memory else ""
        change = Change(EDIT, memory_id, place.path, place.path, {}, None, digest(old), why, new)
        self._carry_out(why, [change])

    def _memory(self, place: Place) -> Memory | None:
        """The memory in a file; None for other files."""
        return self.session.store.collection.at(place.path)

    def _carry_out(self, why: str, changes: Sequence[Change]) -> None:
        """Carry out changes as one batch. Raises VaultmemError if any is impossible."""
        if not changes:
            return
        who = header(self.params, why, self.session.now)._replace(by=self.by, kind="assistant")
        self.session.make(Plan("tool", tuple(changes)), who)

    def _edit_marks(self, memory: Memory | None) -> dict[str, Value]:
        """The properties that mark an assistant's edit. Raises VaultmemError for a memory that a person has
        approved."""
        if memory is None:
            return {"agent": self.by}
        if self.session.is_approved(memory):
            what = f"{memory.title!r} was approved by a person and cannot be edited"
            raise VaultmemError(f"{what}; write another file")
        ours = {} if memory.text("agent") else {"agent": self.by}
        return {**ours, "updated_at": self.now}

    def _files_of(self, place: Place) -> list[Place]:
        """The file, or all files in a folder."""
        if not place.is_folder:
            return [place]
        return [file for file in self.folder.inside(place, 100) if not file.is_folder]

    def _put_away(self, place: Place, why: str) -> Change:
        data = self.folder.data(place)
        inner = place.path[len(self.folder.path) + 1 :]
        preferred = f"{self.folder.path}/{ARCHIVED_NOTES}/{inner}"
        target = free_path(preferred, self.session.store.new_id(), self.session.view.exists)
        return Change(TO_ARCHIVE, "", place.path, target, {}, None, digest(data), why, data)

    def _relocate(self, place: Place, inner: str, why: str) -> Change:
        memory = self._memory(place)
        path, filename = self.folder.new(inner)
        if memory is None:
            if not place.path.endswith(".md"):
                path = path.removesuffix(".md")
            data = self.folder.data(place)
            return Change(MOVE, "", place.path, path, {}, None, digest(data), why, data)
        filed = _filing_properties(_category_in(inner, memory.category))
        sets = {**self._edit_marks(memory), FILENAME: filename, **filed}
        return Change(MOVE, memory.id, place.path, path, sets, None, memory.hash, why)


def _category_in(inner: str, otherwise: str) -> str:
    top = inner.partition("/")[0] if "/" in inner else ""
    return top if top in CATEGORIES else otherwise


def _filing_properties(category: str) -> dict[str, Value]:
    return {"phase": phase_of(category), "category": category}


def _with_plain_code(before: str, after: str) -> str:
    """The text after a change, whose parts may join into code that an editor would run. If there was some before, it
    is the person's and stays."""
    return not_run(after) if not_run(before) == before else after


def _check(content: str) -> str:
    """The content, if a memory can hold it. Raises VaultmemError."""
    odd = find_control(content)
    if odd:
        raise VaultmemError(f"The text holds a control character (U+{ord(odd[0]):04X}).")
    size = len(content.encode())
    if size > MAX_CONTENT:
        raise VaultmemError(f"The text has {size:,} bytes; a memory has at most {MAX_CONTENT:,}.")
    return content


def _missing(path: str) -> VaultmemError:
    return VaultmemError(f"The path {path} does not exist. Please provide a valid path.")


def _numbered_file(path: str, content: str, view_range: object) -> str:
    """The text of a file with line numbers; `view_range` is [first, last], where -1 means the end."""
    lines = content.split("\n")
    if len(lines) > MOST_LINES:
        raise VaultmemError(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    first, last = 0, len(lines)
    match view_range:
        case [int() as one, int() as other]:
            first, last = max(1, one) - 1, last if other == -1 else other
    numbered = _number_lines(lines[first:last], first + 1)
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(numbered)


def _number_lines(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def _listing(path: str, size: int, items: Sequence[tuple[int, str]]) -> str:
    what = "files and directories up to 2 levels deep"
    head = f"Here're the {what} in {path}, excluding hidden items:"
    lines = [f"{_size(entry)}\t{path}/{name}" for entry, name in items[:MOST_LISTED]]
    if len(items) > MOST_LISTED:
        lines.append(f"(and {len(items) - MOST_LISTED:,} more; view one of the directories)")
    return "\n".join([head, f"{_size(size)}\t{path}", *lines])


def _size(size: int) -> str:
    """A size in the tool's format: 0B, 17B, 1.5K."""
    power = min(max(size.bit_length() - 1, 0) // 10, 3)
    number: float = size / 1024**power
    return (f"{int(number)}" if number == int(number) else f"{number:.1f}") + "BKMG"[power]


def _remove_empty(folder: str) -> None:
    for place, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):  # it holds hidden files
            os.rmdir(place)
