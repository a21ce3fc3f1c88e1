"""What a person should look at, and which preferences an assistant should know: read from the index and the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import chain, zip_longest
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import DamagedError
from vaultmem.index.catalog import NOTES_BELOW, Catalog, below
from vaultmem.memories import reads
from vaultmem.memories.draft import HALTED, LEAVING
from vaultmem.memories.ledger import Ledger
from vaultmem.memories.model import is_private, scope_of
from vaultmem.reminders import learned, page_copies
from vaultmem.reminders.answers import Answer, closed
from vaultmem.reminders.due import Due
from vaultmem.reminders.due_notes import author, is_named
from vaultmem.reminders.page_copies import Told
from vaultmem.reminders.pending_items import (
    DAYS,
    PRIVATE,
    approval,
    carried_out,
    completion,
    is_approved,
    is_refused,
    later,
    marks,
    place_of,
    section_of,
    several,
    waiting,
    words_of,
)
from vaultmem.reminders.pending_page import Item, item_id
from vaultmem.text.times import seconds
from vaultmem.text.values import plural
from vaultmem.vault.places import ENTRIES, INBOX, category_of, named

MOST = 3  # single lines of a kind
MOST_ASKED = 2  # things from outside or from chats that the page asks about at once
_ASKED = ("approve", "remember")  # kinds that only the person may answer
PERSONAL = ("vanished", HALTED, "leaving", *_ASKED)  # for the page; the others are chores
MOST_PREFERENCES = 8
WAITING = ("contradiction", "fading")  # findings for which a person may want to do something
_KINDS = (*PERSONAL, *WAITING, "proposals", "copies", "unreadable", "stray", "inbox")
_RANK = {kind: number * 10 for number, kind in enumerate(_KINDS)}
_COUNTED = {
    HALTED: "{} jobs wait for your word: vaultmem jobs lists them",
    "contradiction": "{} contradictions between memories",
    "fading": "{} memories that notes build on are fading",
    "copies": "{} sync conflict copies: vaultmem doctor names them",
    "unreadable": "{} notes cannot be read: vaultmem doctor names them",
    "stray": "{} notes of the memory folder are in no folder of a category, and are left alone",
}
CHORES = "{} for the memory to be looked after: vaultmem review"
_MEMORIES = f"""SELECT f.path, n.title, n.dialect, n.properties {NOTES_BELOW} AND n.properties IS NOT NULL
    AND (n.category IN ('inbox', 'preferences') OR n.properties LIKE '%procedural%'
        OR f.path IN (SELECT value FROM json_each(?))) ORDER BY f.path"""  # noqa: S608 - own text


class Sight(NamedTuple):
    """Where to look."""

    catalog: Catalog
    ledger: Ledger
    vault: str
    folder: str  # of the memories
    now: datetime  # the clock on the wall, with its zone
    page: str = ""  # the path of the page itself


class _Memory(NamedTuple):
    path: str
    title: str
    category: str
    dialect: str
    properties: dict[str, Value]

    def text(self, key: str) -> str:
        found = self.properties.get(key)
        return found.strip() if isinstance(found, str) else ""

    @property
    def id(self) -> str:
        return self.text("id")


def items(
    sight: Sight, dues: Iterable[Due], answers: Mapping[str, Answer], vanished: str = ""
) -> list[Item]:
    """What is to review on the page and was not answered: what only the person can say, a little at a time, and one
    line that counts all else. A tick on it holds until there is something else."""
    found = _open(sight, dues, answers, vanished)
    turns = chain.from_iterable(zip_longest(*(found[kind] for kind in _ASKED)))
    questions = [one for one in turns if one is not None]
    asked, rest = questions[:MOST_ASKED], questions[MOST_ASKED:]  # each answer brings up the next
    rest += [each for kind, some in found.items() if kind not in PERSONAL for each in some]
    shown = [*found["vanished"], *found[HALTED], *found["leaving"], *asked]
    if rest:
        key = "\0".join(sorted(item.id for item in rest))
        said = CHORES.format(plural(len(rest), "thing"))
        shown.append(Item(item_id("chores", key), "review", said, rank=_RANK[WAITING[0]]))
    return waiting(shown, answers, sight.now.replace(tzinfo=None))


def chores(
    sight: Sight, dues: Iterable[Due], answers: Mapping[str, Answer], vanished: str = ""
) -> list[Item]:
    """All that vaultmem review lists beside proposals, the most urgent kinds first; many of a kind are one line."""
    found = {**_open(sight, dues, answers, vanished), "proposals": []}
    every = [
        one
        for kind, each in found.items()
        for one in (each if kind in PERSONAL else several(each, MOST, _COUNTED.get(kind, "{}")))
    ]
    return waiting(every, answers, sight.now.replace(tzinfo=None))


def _open(
    sight: Sight, dues: Iterable[Due], answers: Mapping[str, Answer], vanished: str
) -> dict[str, list[Item]]:
    now = sight.now.replace(tzinfo=None)
    found = _found(sight, dues, answers, vanished)
    return {kind: waiting(each, answers, now) for kind, each in found.items()}


def current(sight: Sight, dues: Iterable[Due], vanished: str = "") -> set[str]:
    """The ids of all that can have been answered and is there still: what must not be forgotten however old it is."""
    named = list(dues)
    found = {
        name
        for due in named
        for name in (
            due.id,
            approval(due.id),
            completion(due.path),
            carried_out(due),
            due.series,
            *marks(due),
        )
    }
    for each in _memories(sight):
        found |= {approval(each.id), _preference(each)} if _is_procedural(each) else set()
    found |= {one.question for one in learned.learned(sight.catalog, sight.vault, sight.folder)}
    kinds = _found(sight, named, {}, vanished).values()
    shown = [*items(sight, named, {}, vanished), *chores(sight, named, {}, vanished)]
    return (found | {item.id for item in [*chain.from_iterable(kinds), *shown]}) - {""}


def _found(
    sight: Sight, dues: Iterable[Due], answers: Mapping[str, Answer], vanished: str
) -> dict[str, list[Item]]:
    """All that is to review, by kind, the most urgent first."""
    noticed = _noticed(sight)
    memories = list(_memories(sight, [str(each.get("subject")) for each in noticed]))
    return {
        "vanished": [_item("vanished", item_id("vanished", vanished), vanished)]
        if vanished
        else [],
        HALTED: _halted(noticed),
        "leaving": _leaving(sight, noticed, memories),
        "approve": _to_approve(sight, dues, memories, answers),
        "remember": _to_remember(sight, answers),
        **_findings(noticed, memories),
        "proposals": _proposals(sight),
        "copies": _files("copies", page_copies.copies(sight.catalog, sight.folder, sight.page)),
        "unreadable": _files("unreadable", page_copies.unreadable(sight.catalog)),
        "stray": _files("stray", page_copies.strays(sight.catalog, sight.folder)),
        "inbox": _inbox(sight, memories),
    }


def preferences(sight: Sight, answers: Mapping[str, Answer]) -> list[Item]:
    """What a person told how to do, the newest first: filed memories of the person and of assistants, and what was
    approved."""
    known = [
        each
        for each in _memories(sight)
        if _is_procedural(each)
        and _is_believed(each, answers)
        and not closed(answers, _preference(each))
        and not is_private(each.properties)
    ]
    newest = sorted(known, key=lambda each: (each.text("created_at"), each.id), reverse=True)
    return [
        Item(
            _preference(each),
            "preferences",
            _content(sight, each),
            scope=scope_of(each.properties, memory=True),
            rank=number,
            author=author(each.properties),
            memory=each.id,
        )
        for number, each in enumerate(newest[:MOST_PREFERENCES])
    ]


def _preference(memory: _Memory) -> str:
    return item_id(memory.id, "preference")


def _item(kind: str, id_: str, text: str, source: str = "", title: str = "") -> Item:
    asks = kind in (*_ASKED, "leaving")
    return Item(id_, "review", text, source=source, title=title, rank=_RANK[kind], asks=asks)


# --- Memories


def _memories(sight: Sight, wanted: Sequence[str] = ()) -> Iterator[_Memory]:
    """Memories that live and have an id: those of the inbox, those of how to do things, and those at `wanted` paths."""
    folder = sight.folder
    given = (*below(folder), json.dumps(list(wanted)))
    for path, title, dialect, properties in sight.catalog.db.execute(_MEMORIES, given).fetchall():
        own = named(json.loads(properties))
        inner = path[len(folder) + 1 :]
        category = category_of(inner, own.get("category"))
        memory = _Memory(path, title, category, dialect, own)
        if memory.id and not inner.startswith(f"{ENTRIES}/"):
            yield memory


def _is_procedural(memory: _Memory) -> bool:
    if memory.category == INBOX:
        return False
    return memory.category == "preferences" or memory.text("memory_type") == "procedural"


def _is_believed(memory: _Memory, answers: Mapping[str, Answer]) -> bool:
    if _is_foreign(memory):
        return is_approved(memory.id, answers)
    return not is_refused(memory.id, answers)


def _is_foreign(memory: _Memory) -> bool:
    agent = memory.properties.get("agent")
    outside = any(memory.properties.get(key) for key in ("source", "url"))
    return outside or (bool(agent) and not is_named(agent))


def _content(sight: Sight, memory: _Memory) -> str:
    """The beginning of what it says, as far as an item shows it."""
    return learned.content(sight.vault, memory.path, memory.dialect) or memory.title


# --- Kinds


def _to_approve(
    sight: Sight, dues: Iterable[Due], memories: Iterable[_Memory], answers: Mapping[str, Answer]
) -> list[Item]:
    """What comes from outside."""
    today = sight.now.date()
    last = later(today, DAYS)
    found = [
        _item("approve", approval(due.id), _asked(due), place_of(due), due.title)
        for due in dues
        if due.foreign
        and section_of(due, today.isoformat(), last)
        and _is_undecided(due.id, answers)
    ]
    for each in memories:
        if _is_procedural(each) and _is_foreign(each) and _is_undecided(each.id, answers):
            writer = each.text("agent") or "another source"
            words = _content(sight, each) if len(found) < MOST else each.title
            words = PRIVATE if is_private(each.properties) else words
            said = f"a preference from {writer}; tick to trust it: {words}"
            found.append(_item("approve", approval(each.id), said, each.path, each.title))
    return found


def _to_remember(sight: Sight, answers: Mapping[str, Answer]) -> list[Item]:
    """What conversations learned about the person."""
    return [
        _item("remember", one.question, one.asked(_day(one.created, sight.now.tzinfo)), one.path)
        for one in learned.proposed(sight.catalog, sight.vault, sight.folder, answers)
    ]


def _asked(due: Due) -> str:
    day = (due.due or due.at).replace("T", " ")
    return f"from outside, {day}; tick to let it in: {words_of(due)}"


def _is_undecided(id_: str, answers: Mapping[str, Answer]) -> bool:
    return not is_approved(id_, answers) and not is_refused(id_, answers)


def _noticed(sight: Sight) -> list[dict[str, object]]:
    try:
        return reads.findings(sight.ledger)
    except DamagedError:
        return []  # whoever writes next replaces the ledger


def _findings(
    noticed: Iterable[Mapping[str, object]], memories: Iterable[_Memory]
) -> dict[str, list[Item]]:
    """What dreams noticed, as far as it still is so."""
    by_path = {each.path: each for each in memories}
    found: dict[str, list[Item]] = {kind: [] for kind in WAITING}
    for each in noticed:
        memory, kind = by_path.get(str(each.get("subject"))), str(each.get("kind"))
        if memory is None or kind not in found:
            continue
        others = [str(other) for other in _listed(each.get("others"))]
        ids = sorted(by_path[other].id if other in by_path else other for other in others)
        id_ = item_id(memory.id, "\0".join([kind, *(ids if kind == "contradiction" else [])]))
        said = f"{each.get('said')}{_advice(kind, memory.id[:8], others)}"
        found[kind].append(_item(kind, id_, said, memory.path, memory.title))
    return found


def _halted(noticed: Iterable[dict[str, object]]) -> list[Item]:
    """What jobs have asked before they go on."""
    asked = [one for one in noticed if one.get("kind") == HALTED]
    return [_item(HALTED, halted_id(one), f"{one['said']}; tick if that is right") for one in asked]


def halted_id(found: Mapping[str, object]) -> str:
    """The id of the item for what a job has asked."""
    return item_id(str(found["subject"]), f"{HALTED}\0{found['at']}")


def _leaving(
    sight: Sight, noticed: Iterable[Mapping[str, object]], memories: Iterable[_Memory]
) -> list[Item]:
    """What jobs archive soon, the next first."""
    given = [one for one in noticed if one.get("kind") in LEAVING]
    by_id = {each.id: each for each in memories}
    found = []
    for one in sorted(given, key=lambda one: str(one["leaves"])):
        if memory := by_id.get(str(one["id"])):
            hidden = is_private(memory.properties)
            words = PRIVATE if hidden else _content(sight, memory)
            said = f"leaves on {one['leaves']}; tick to keep it: {words}"
            title = "" if hidden else memory.title
            found.append(_item("leaving", leaving_id(one), said, memory.path, title))
    return found


def leaving_id(found: Mapping[str, object]) -> str:
    """The id of the item for a memory that leaves."""
    return item_id(str(found["id"]), f"leaving\0{found['leaves']}")


def _listed(given: object) -> list[object]:
    return given if isinstance(given, list) else []


def _advice(kind: str, short: str, others: list[str]) -> str:
    if kind == "fading":
        return f": vaultmem reinforce {short} keeps it"
    return f" ({', '.join(others)})" if others else ""


def _proposals(sight: Sight) -> list[Item]:
    """For the count: vaultmem review shows them itself."""
    open_ = (one for one in reads.kept(sight.ledger) if one.state == reads.OPEN)
    return [_item("proposals", item_id(one.id, "proposal"), "") for one in open_]


def _files(kind: str, found: Iterable[Told]) -> list[Item]:
    return [_item(kind, each.id, each.said, each.path, each.name) for each in found]


def _inbox(sight: Sight, memories: Iterable[_Memory]) -> list[Item]:
    """One line for what has been in the inbox since yesterday or longer; it comes back with the next one."""
    day = sight.now.date().isoformat()
    there = [
        (_day(each.properties.get("created_at"), sight.now.tzinfo), each.id)
        for each in memories
        if each.category == INBOX
    ]
    old = [one for one in there if one[0] < day]
    if not old:
        return []
    verb = "waits" if len(old) == 1 else "wait"
    said = (
        f"{plural(len(old), 'memory', 'memories')} {verb} in the inbox: vaultmem list --phase inbox"
    )
    return [_item("inbox", item_id("inbox", "\0".join(max(old))), said)]


def _day(given: object, zone: tzinfo | None) -> str:
    """The day of a moment on the clock on the wall; "" where there is none."""
    at = given if isinstance(given, float) else seconds(given)
    return "" if at is None else datetime.fromtimestamp(at, UTC).astimezone(zone).date().isoformat()
