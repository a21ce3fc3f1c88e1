"""What a plan may look at, and the draft on which its steps work one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from vaultmem.adapter import Properties, Value
from vaultmem.errors import NoteChangedError
from vaultmem.light import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict
from vaultmem.memories.access import DREAM
from vaultmem.memories.memory_file import compact
from vaultmem.memories.model import ARCHIVE as ARCHIVE_FOLDER
from vaultmem.memories.model import REMINDERS, Memory, category_of, link_targets
from vaultmem.notes import pages
from vaultmem.notes.places import file_name, phase_of
from vaultmem.text.similarity import content_hash, opening, sketch
from vaultmem.text.times import seconds, stamp
from vaultmem.text.titles import free_path
from vaultmem.vault.files import decode, digest

if TYPE_CHECKING:
    from vaultmem.dreams.supersede import Relation
    from vaultmem.memories.view import View

# What a job or command wants to do to memories: a plan of changes, to be printed or applied.

CREATE, EDIT, MOVE, TO_ARCHIVE, RESTORE = "create", "edit", "move", "archive", "restore"


class Change(NamedTuple):
    """One planned file change. Nothing is ever deleted: removed memories go to the archive.

    `properties` are set, in this order; None removes one. `content` is the whole new content; None keeps it.
    """

    action: str
    id: str
    path: str | None  # its current path; None if new
    target: str  # its new path
    properties: Properties
    content: str | None
    # The hash of the content that the plan saw: if it differs by then, nothing is done.
    expected: str | None
    why: str  # one line for a person
    # The whole file instead, for a note that is not a memory; then `expected` is its digest.
    raw: bytes | None = None
    # The properties that the plan saw and based its own on.
    seen: Mapping[str, Value] = {}


class Finding(TypedDict):
    """Something that a job noticed and will not change by itself, as reported and stored."""

    kind: str  # contradiction, unsure, ...
    subject: str  # the path of the memory or note
    said: NotRequired[str]  # one line for a person
    others: NotRequired[list[str]]  # paths that are the evidence
    at: NotRequired[float]  # when it was noticed, if a person is asked about it
    leaves: NotRequired[str]  # the day on which a memory is announced to leave
    ids: NotRequired[list[str]]  # of the memories at these paths, which may be renamed
    id: NotRequired[str]  # the first of them, in reports


def noticed(rows: Iterable[Finding], paths: Mapping[str, str]) -> list[Finding]:
    """The findings whose memories all exist, with their current paths: `paths` has the memories by id."""
    results: list[Finding] = []
    for row in rows:  # those of earlier versions may have no ids
        before = row["subject"], *row["others"]
        now = [paths[id_] for id_ in row.get("ids", ()) if id_ in paths]
        if len(now) == len(before):
            said = row["said"]
            for old, new in zip(before, now, strict=True):
                said = said.replace(f"[[{file_name(old)}]]", f"[[{file_name(new)}]]")
            results.append({**row, "subject": now[0], "others": now[1:], "said": said})
    return results


class Plan(NamedTuple):
    """What a job wants to do and what it noticed. Deterministic for a given vault and clock."""

    name: str
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    left: int = 0  # changes left because of the limit of one run


CONTRADICTION = "contradiction"  # the kind of finding that two memories cannot both be true
LOST = "lost"  # the kind of a failing expectation, see operations.expectations
HALTED = "halted"  # the kind of finding by which a job asks for confirmation
LEAVING = ("expire", "decay")  # steps that archive for age, and their kinds of findings
NOTICE = timedelta(days=7)  # time for which a fact is announced before a job archives it


class New(NamedTuple):
    """A memory to be written."""

    id: str
    title: str  # safe and unused, see text.titles
    category: str
    content: str
    properties: Properties


class _State:
    def __init__(self, memory: Memory) -> None:
        self.before = self.memory = memory
        self.sets: dict[str, Value] = {}
        self.content: str | None = None
        self.title = memory.title
        self.action = EDIT
        self.whys: list[str] = []


class Draft:
    """Changes as they accumulate: each step sees the effects of earlier ones. may() enforces `limit` memories."""

    def __init__(self, view: View, limit: int = 1_000_000_000) -> None:
        self.view = view
        self.limit = limit
        self.left: set[str] = set()
        self.at_work: set[str] = set()  # paths of files that a person is probably typing in
        self.revision = 0  # increases with every change
        self.findings: list[Finding] = []
        self.notices: Mapping[str, str] | None = None  # see is_over(); None if none are given
        # By path of a newer memory: a hash of the texts compared, and the relation to each older one.
        self.relations: dict[str, tuple[int, Sequence[Relation]]] = {}
        self._states: dict[str, _State] = {}  # by path
        self._aside: set[str] = set()
        self._new: list[Change] = []
        self._titles: set[str] = set()
        self._ids: set[str] = set()
        self._targets: set[str] = set()

    # Reading

    def memories(self) -> list[Memory]:
        """All living, adopted memories as the steps so far have left them, by original path."""
        results = [
            self.see(memory) for memory in self.view.memories() if memory.path not in self._aside
        ]
        remaining = [memory for memory in results if memory.adopted and not memory.archived]
        return sorted(remaining, key=lambda memory: memory.path)

    def see(self, memory: Memory) -> Memory:
        """One memory as the steps so far have left it; `path` remains the one on disk."""
        state = self._states.get(memory.path)
        return state.memory if state else memory

    def content(self, memory: Memory) -> str:
        """Its content, as the steps so far have left it."""
        state = self._states.get(memory.path)
        if state and state.content is not None:
            return state.content
        return self.view.content(memory)

    def written_at(self, memory: Memory) -> datetime:
        """When it was written, in the person's time zone."""
        now = self.view.now
        return datetime.fromtimestamp(min(memory.created, now.timestamp()), now.tzinfo)

    def reads(self, memory: Memory) -> int:
        """How often it was read, according to its file or this machine."""
        return max(self.view.reads(memory), self.see(memory).stored_reads)

    def is_changed(self, memory: Memory) -> bool:
        """Whether a step has changed it."""
        return memory.path in self._states

    def is_taken(self, title: str) -> bool:
        """Whether a title is taken for new memories."""
        return title.lower() in self._titles or self.view.is_taken(title)

    def is_coming(self, title: str) -> bool:
        """Whether a new memory will have this title."""
        return title.lower() in self._titles

    def has_id(self, id_: str) -> bool:
        """Whether any memory has this id, including new ones."""
        return id_ in self._ids or self.view.has_id(id_)

    def may(self, *memories: Memory, new: int = 0) -> bool:
        """Whether these may all be changed, and as many written, within the limit; otherwise they are counted as
        left."""
        fresh = {memory.path for memory in memories} - self._states.keys()
        if len(self._states) + len(self._new) + len(fresh) + new <= self.limit:
            return True
        self.left |= fresh or {memory.path for memory in memories}
        return False

    def is_over(self, memory: Memory, end: float, job: str) -> bool:
        """Whether a memory whose time ends at `end` may be archived; for a fact, an unattended job first gives
        notice."""
        now = self.view.now
        is_ended = end <= now.timestamp()
        if self.notices is None or memory.is_passing:
            return is_ended
        day = self.notices.get(memory.id, "")
        if is_ended and "" < day <= now.date().isoformat():
            return True
        soon = now + NOTICE
        if end <= soon.timestamp():
            self.find(job, "its time ends soon", memory)
        return False

    def leave(self, memory: Memory) -> None:
        """Hide it from all steps: a person is working on it."""
        self._aside.add(memory.path)

    # Changing

    def set(self, memory: Memory, why: str, **properties: Value) -> None:
        """Set properties; None removes one."""
        state = self._state(memory, why)
        before = state.memory.properties
        self.revision += any(before.get(key) != value for key, value in properties.items())
        state.sets.update(properties)
        merged = {**before, **properties}
        remaining = {key: value for key, value in merged.items() if value is not None}
        state.memory = _with(state.memory, remaining, properties)

    def rewrite(self, memory: Memory, content: str, why: str) -> None:
        """Replace its content."""
        state = self._state(memory, why)
        self.revision += 1
        state.content = content
        state.memory = state.memory._replace(
            hash=content_hash(content), opening=opening(content), sketch=sketch(content), size=len(content),
            links=link_targets(content),
        )  # fmt: skip
        self.set(memory, why, updated_at=stamp(self.view.now.timestamp()))

    def retitle(self, memory: Memory, title: str, why: str) -> None:
        """Give its file a safe and unused new name."""
        self._state(memory, why).title = title
        self._titles.add(title.lower())

    def move(self, memory: Memory, category: str, why: str) -> None:
        """File it under a category."""
        state = self._state(memory, why)
        if state.action == EDIT:
            state.action = MOVE
        self.set(memory, why, phase=phase_of(category), category=category)

    def archive(self, memory: Memory, by: str, why: str, replaced_by: str | None = None) -> None:
        """Move it to the archive, recording the category if only its folder implied that."""
        state = self._state(memory, why)
        state.action = TO_ARCHIVE
        state.memory = state.memory._replace(archived=True)
        now = stamp(self.view.now.timestamp())
        extra: dict[str, Value] = {"replaced_by": replaced_by} if replaced_by else {}
        extra |= {"category": state.memory.category, "phase": state.memory.phase}
        self.set(memory, why, deleted_at=now, by=by, **extra)

    def create(self, new: New, why: str) -> None:
        """Add a new memory."""
        self.revision += 1
        self._titles.add(new.title.lower())
        self._ids.add(new.id)
        target = f"{self.view.folder}/{new.category}/{new.title}.md"
        self._new.append(
            Change(CREATE, new.id, None, target, new.properties, new.content, None, why)
        )

    def find(self, kind: str, text: str, *memories: Memory) -> None:
        """Report something about memories that will not be changed."""
        subject, *others = (memory.path for memory in memories)
        ids = [self.see(memory).id for memory in memories]
        self.findings.append(
            {"kind": kind, "subject": subject, "said": text, "others": others, "ids": ids}
        )

    def _state(self, memory: Memory, why: str) -> _State:
        state = self._states.get(memory.path)
        if state is None:
            state = self._states[memory.path] = _State(memory)
        if why not in state.whys:
            state.whys.append(why)
        return state

    def plan(self, name: str) -> Plan:
        """The plan: all changes by path, new memories last."""
        self._targets.clear()
        changes = [self._change(path, state) for path, state in sorted(self._states.items())]
        actual_changes = tuple(change for change in changes if change is not None)
        return Plan(name, (*actual_changes, *self._new), tuple(self.findings), len(self.left))

    def _change(self, path: str, state: _State) -> Change | None:
        before = state.before
        sets = {key: value for key, value in state.sets.items()
                if value != before.properties.get(key)}  # fmt: skip
        content = state.content if state.memory.hash != before.hash else None
        target = self._target(path, state)
        self._targets.add(target.lower())
        if not sets and content is None and target == path:
            return None
        action = EDIT if target == path else state.action
        seen = {key: before.properties.get(key) for key in sets}
        why = "; ".join(state.whys)
        return Change(action, before.id, path, target, sets, content, before.hash, why, seen=seen)

    def _target(self, path: str, state: _State) -> str:
        place, _, name = path.rpartition("/")
        if folder := {TO_ARCHIVE: ARCHIVE_FOLDER, MOVE: state.memory.category}.get(state.action):
            place = f"{self.view.folder}/{folder}"
        if state.title != state.before.title:
            name = f"{state.title}.md"
        preferred = f"{place}/{name}"
        if preferred == path:
            return path
        taken = lambda path: path.lower() in self._targets or self.view.exists(path)  # noqa: E731 - one line
        return free_path(preferred, state.memory.id, taken)


def _with(memory: Memory, properties: Properties, values: Properties) -> Memory:
    """A memory with these properties set, and the fields derived from them; other properties are ignored."""
    tags = values.get("tags", list(memory.tags))
    return memory._replace(
        properties=properties, id=str(values.get("id", memory.id)), adopted=memory.adopted or "id" in values,
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        phase=str(values.get("phase", memory.phase)), category=str(values.get("category", memory.category)),
        scope=str(values.get("scope", memory.scope)), created=_moment(values, "created_at", memory.created),
        updated=_moment(values, "updated_at", memory.updated),
    )  # fmt: skip


def _moment(values: Properties, key: str, otherwise: float) -> float:
    result = seconds(values.get(key))
    return otherwise if result is None else result


def undeleted(memory: Memory, now: float) -> dict[str, Value]:
    """The property changes for a memory that returns from the archive and holds again."""
    properties: dict[str, Value] = {"deleted_at": None, "by": None, "updated_at": stamp(now)}
    if memory.text("replaced_by"):
        properties["until"] = None
    if memory.expires is not None and memory.expires <= now:
        properties["expires_at"] = None
    return properties


def restored(view: View, memory: Memory, why: str, **sets: Value) -> Change:
    """An archived memory back in its category's folder. `replaced_by` stays: a merged memory that returns is not the
    same."""
    name = memory.path.rpartition("/")[2]
    preferred = f"{view.folder}/{category_of('', memory.properties.get('category'))}/{name}"
    target = free_path(preferred, memory.id, view.exists)
    properties = {**undeleted(memory, view.now.timestamp()), **sets}
    return Change(RESTORE, memory.id, memory.path, target, properties, None, memory.hash, why)


def is_own(memory: Memory) -> bool:
    """Whether a dream made this memory out of another one."""
    return memory.category == REMINDERS and memory.text("source") == DREAM


# From changes to files: each is applied to its file's newest bytes, all changes of a plan as one batch.

Style = Callable[[str], str]  # the page style at a path, see adapter.Rules.page_style


def rendering(change: Change, style: Style) -> Callable[[bytes | None], bytes]:
    """A function from a file's newest bytes to its new bytes. Raises NoteChangedError if the plan is stale."""
    form = style(change.target)

    def render(now: bytes | None) -> bytes:
        if change.raw is not None:
            if now is not None and digest(now) != change.expected:
                raise NoteChangedError(f"{change.path} was changed meanwhile")
            return change.raw
        if now is None:
            return pages.compose(form, change.properties, change.content or "")
        if not _is_as_seen(change, pages.read(form, decode(now)[0])):
            raise NoteChangedError(f"{change.path} was changed meanwhile")
        return pages.edit(form, now, change.properties, change.content)

    return render


def _is_as_seen(change: Change, page: pages.Page) -> bool:
    """Whether the content is what the plan saw, if all of it matters, and the properties to be set are as it saw
    them, or already as wanted. Extending an older list of tags would undo later additions."""
    whole = change.content is not None or change.action == TO_ARCHIVE
    if whole and change.expected and change.expected != content_hash(page.content):
        return False
    properties = compact(page.properties)
    return all(
        properties.get(key) in (seen, change.properties[key]) for key, seen in change.seen.items()
    )
