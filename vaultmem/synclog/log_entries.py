"""What machines must agree on, as entries ordered by rank, and the page on which a machine writes its own.

Pure. A set of entries has one for each key, and merging keeps the greater of two with one key. So it does not matter
in which order pages are merged, how often, or which of them were lost in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from types import MappingProxyType

from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.item_answers import DONE, DROPPED, OPEN, SNOOZED, Answer
from vaultmem.notes.places import OUTLINE
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import seconds
from vaultmem.text.values import lazy

BASELINE = "vm-firstlook"  # a notification of nothing: marks that a first look was taken
BEFORE = ""  # in place of a machine: reads already counted in the note


class Notified(NamedTuple):
    """The desktop has notified of an item."""

    id: str
    at: str  # when last, UTC
    times: int = 1
    moment: str = ""  # the moment it was for: Due.at, or the end of a snooze


class Reads(NamedTuple):
    """How often one machine has read a memory. It only grows; the sum over all machines counts."""

    id: str
    machine: str
    number: int
    at: str  # the last read, UTC


class Written(NamedTuple):
    """vaultmem has written a file with this content on a machine."""

    id: str  # the first digits of Git's id of the content
    machine: str
    at: str
    by: str


class Reinforced(NamedTuple):
    """When a memory's decay was last reset."""

    id: str
    at: str


Entry = Answer | Notified | Reads | Written | Reinforced
Key = tuple[str, str, str]
Entries = Mapping[Key, Entry]

if TYPE_CHECKING:
    from typing import TypeVar

    E = TypeVar("E", Answer, Notified, Reads, Written, Reinforced)


def key_of_entry(entry: Entry) -> Key:
    """The key of an entry: of two with the same key, one counts."""
    return type(entry).__name__, entry.id, machine_of(entry)


def machine_of(entry: Entry) -> str:
    """The machine that an entry is about; "" if it is the same for all."""
    return entry.machine if isinstance(entry, Reads | Written) else BEFORE


def rank(entry: Entry) -> tuple[str, str]:
    """The greater of two counts: more reads; otherwise the later, and within one second the line that sorts last."""
    if isinstance(entry, Reads):
        return f"{entry.number:06}", entry.at
    return entry.at, line_of(entry)


def collect(entries: Iterable[Entry]) -> dict[Key, Entry]:
    """Entries by key."""
    return _greatest((key_of_entry(entry), entry) for entry in entries)


def _greatest(pairs: Iterable[tuple[Key, Entry]]) -> dict[Key, Entry]:
    greatest: dict[Key, Entry] = {}
    for key, entry in pairs:
        newest = greatest.get(key)
        if newest is None or (newest != entry and rank(newest) < rank(entry)):
            greatest[key] = entry
    return greatest


def merge_entries(*several: Entries) -> dict[Key, Entry]:
    """All of them merged: machines may merge them in any order, any number of times, and agree."""
    return _greatest(chain.from_iterable(entries.items() for entries in several))


def own_entries(entries: Entries, own: Entries, others: Sequence[Entries]) -> dict[Key, Entry]:
    """The entries for this machine's page: those that it wrote there before and still hold, and those that no other
    page has. So losing a page loses nothing, no page repeats another, and two machines never overwrite a line in
    turns."""
    return {
        key: entry
        for key, entry in entries.items()
        if own.get(key) == entry or all(other.get(key) != entry for other in others)
    }


def of_kind(entries: Entries, kind: type[E]) -> dict[str, E]:
    """The entries of one kind by id; not for reads, which have several per memory, one per machine."""
    return {entry.id: entry for entry in entries.values() if isinstance(entry, kind)}


# --- Lines

MACHINE = r"[a-z0-9][a-z0-9-]{2,39}"  # the name of a machine, and of its page
_MOST_NAME = 40  # characters of an answerer's name
_HEAD_LINES = 20  # the line that names the page's machine
_REMEMBERED = 4_096  # answers are read again and again
_AT = r"(?P<at>2[01]\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
_TIME = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d)?"
_ITEM = r"[ \t]*[-*+] (?P<id>vm-[a-z2-7]{6,60})"
_MEMORY = r"[ \t]*[-*+] (?P<id>[0-9A-Za-z][0-9A-Za-z._-]{0,63})"
_ANSWER = lazy(
    rf"{_ITEM} (?P<state>{OPEN}|{DONE}|{DROPPED}|{SNOOZED}) {_AT}(?: until (?P<until>{_TIME}))?"
    r"(?: by (?P<by>[^:]+?)(?:: (?P<text>.*))?)?[ \t]*",
    re.ASCII,
)
_NOTIFIED = lazy(
    rf"{_ITEM} told {_AT} (?P<times>\d{{1,6}})x(?: for (?P<moment>{_TIME}))?[ \t]*", re.ASCII
)
_READS = lazy(
    rf"{_MEMORY} read (?P<times>\d{{1,6}})x(?P<before> before)?, last {_AT}[ \t]*", re.ASCII
)
_WRITTEN = lazy(
    rf"[ \t]*[-*+] (?P<id>[0-9a-f]{{16}}) written {_AT} by (?P<by>[^:]+?)[ \t]*", re.ASCII
)
_REINFORCED = lazy(rf"{_MEMORY} reinforced {_AT}[ \t]*", re.ASCII)


@lru_cache(_REMEMBERED)
def plain(answer: Answer) -> Answer:
    """The answer as its line states it, which both the page and the ledger keep."""
    name = plain_name(answer.by) or ("somebody" if answer.text else "")
    until = answer.until if re.fullmatch(_TIME, answer.until, re.ASCII) else ""
    return answer._replace(by=name, until=until, text=one_line(answer.text))


@lru_cache(_REMEMBERED)
def plain_name(by: str) -> str:
    """The name of an author, as in a line."""
    return one_line(by.replace(":", " "), _MOST_NAME)


def line_of(entry: Entry) -> str:
    """An entry as its line on a page."""
    if isinstance(entry, Answer):
        until = f" until {entry.until}" if entry.until else ""
        text = f": {entry.text}" if entry.text else ""
        by = f" by {entry.by}" if entry.by else ""
        return f"- {entry.id} {entry.state} {entry.at}{until}{by}{text}"
    if isinstance(entry, Notified):
        moment = f" for {entry.moment}" if re.fullmatch(_TIME, entry.moment, re.ASCII) else ""
        return f"- {entry.id} told {entry.at} {entry.times}x{moment}"
    if isinstance(entry, Reads):
        before = " before" if entry.machine == BEFORE else ""
        return f"- {entry.id} read {entry.number}x{before}, last {entry.at}"
    if isinstance(entry, Written):
        return f"- {entry.id} written {entry.at} by {entry.by}"
    return f"- {entry.id} reinforced {entry.at}"


def is_writable(entry: Entry) -> bool:
    """Whether a page can hold it."""
    return entry_of_line(line_of(entry), machine_of(entry)) == entry


@lru_cache(_REMEMBERED)
def entry_of_line(line: str, machine: str) -> Entry | None:
    """The entry in a line of a machine's page; None for any other line."""
    for form, build in _FORMS:
        if match := form.fullmatch(line):
            fields = {name: value or "" for name, value in match.groupdict().items()}
            return build(fields, machine) if seconds(fields["at"]) is not None else None
    return None


def _reads(fields: dict[str, str], machine: str) -> Reads | None:
    who = BEFORE if fields["before"] else machine
    is_known = bool(who or fields["before"])  # a page that does not name its machine counts nothing
    return Reads(fields["id"], who, int(fields["times"]), fields["at"]) if is_known else None


def _parse_written(fields: dict[str, str], machine: str) -> Written | None:
    by = plain_name(fields["by"])
    return Written(fields["id"], machine, fields["at"], by) if machine and by else None


_Build = Callable[[dict[str, str], str], Entry | None]
_FORMS: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (_ANSWER, lambda fields, _: plain(Answer(**fields))),
    (_NOTIFIED, lambda f, _: Notified(f["id"], f["at"], int(f["times"]), f["moment"])),
    (_READS, _reads),
    (_WRITTEN, _parse_written),
    (_REINFORCED, lambda fields, _: Reinforced(**fields)),
)


# --- The page of a machine: one line per entry, so that all sync programs and merges can combine two copies

EXPLAINED = (
    "What this machine tells your other machines that share this vault: answers to the items of pending.md, which "
    "notifications it sent, how often memories were read. vaultmem writes this page; to take an answer back: "
    "vaultmem done ID --undo"
)
TITLE = "Sync log"
_MARK = lazy(r"[ \t]*generated::?[ \t]*[\"']?vaultmem[\"']?[ \t]*", re.IGNORECASE)
_HEAD = lazy(
    rf"[ \t]*(?P<key>machine|awake)::?[ \t]*[\"']?(?P<value>{MACHINE}|{_AT})[\"']?[ \t]*", re.ASCII
)
_OURS = lazy(rf"[ \t]*(?:[-*+] )?(?:#+ )?(?:{TITLE}|{re.escape(EXPLAINED)}|---)[ \t]*|")


class Page(NamedTuple):
    """The contents of a page."""

    machine: str = ""  # its machine; "" if a merge combined two pages
    awake: str = ""  # since when it has been awake without a break, as last reported
    entries: Entries = MappingProxyType({})


def render(page: Page, style: str) -> str:
    """The page as text; the same entries give the same bytes."""
    head = {"generated": "vaultmem", "machine": page.machine, "awake": page.awake}
    is_outline = style == OUTLINE
    properties = [
        f"{key}{'::' if is_outline else ':'} {value}" for key, value in head.items() if value
    ]
    if is_outline:
        lines = [*properties, "", f"- {EXPLAINED}"]
    else:
        lines = ["---", *properties, "---", "", f"# {TITLE}", "", EXPLAINED, ""]
    lines += sorted(map(line_of, page.entries.values()))
    return "".join(f"{line}\n" for line in lines)


def read(text: str, latest: str = "") -> Page | None:
    """The readable part of a page, with the greater of two lines for one key, as a merge may have left both. None for
    a person's note with this name. Entries later than `latest` are ignored: nobody could ever override them."""
    lines = [line.rstrip("\r") for line in text.replace("\ufffd", "").split("\n")]
    heads = [match for line in lines[:_HEAD_LINES] if (match := _HEAD.fullmatch(line))]
    machines = {match["value"] for match in heads if match["key"] == "machine"}
    awakes = [at for match in heads if (at := match["at"]) and _is_in_time(at, latest)]
    # Two names mean that a merge combined two pages: whose reads these are is unknown.
    machine = machines.pop() if len(machines) == 1 else ""
    results: list[Entry] = []
    is_marked = is_odd = False
    for line in lines:
        if entry := entry_of_line(line, machine):
            if _is_in_time(entry.at, latest):
                results.append(entry)
        else:
            is_marked = is_marked or bool(_MARK.fullmatch(line))
            is_odd = is_odd or not (_OURS.fullmatch(line) or _HEAD.fullmatch(line))
    if is_odd and not is_marked:
        return None
    return Page(machine, max(awakes, default=""), collect(results))


def _is_in_time(at: str, latest: str) -> bool:
    return not latest or at <= latest


# Whose turn it is to notify if several machines are awake: one notifies at once, the others after ten minutes, and
# only of items not notified by then. The first is the one that woke up last, as that is where the person is
# likely to be. A machine that was silent at its turn is no longer waited for until it shows a sign of
# life.

PATIENCE = timedelta(minutes=10)
_GONE = 7 * 86_400.0  # seconds without a sign of life after which a machine is not waited for


class Turn(NamedTuple):
    """When one machine may notify."""

    since: datetime | None = None  # when it woke up; None: no other machine to wait for
    is_first: bool = True

    def speaks_at(self, moment: datetime) -> datetime:
        """When it may notify of a moment. Another machine may have notified while this one was asleep, so it first
        waits for their pages."""
        if self.since is None or (self.is_first and self.since <= moment):
            return moment
        return max(moment, self.since) + PATIENCE


ALONE = Turn()


def turn_of(own_page: Page, others: Iterable[Page], silent: Mapping[str, str], now: float) -> Turn:
    """The turn of a machine that is awake; `silent` has the last sign of life of those that missed theirs."""
    alive = [other for other in others if _is_awaited(other, silent.get(other.machine, ""), now)]
    woke = seconds(own_page.awake)
    if not alive or woke is None:
        return ALONE
    rank = (own_page.awake, own_page.machine)
    is_first = all((page.awake, page.machine) < rank for page in alive)
    return Turn(datetime.fromtimestamp(woke, UTC), is_first)


def _is_awaited(page: Page, silent: str, now: float) -> bool:
    """Whether a machine can notify, and was neither silent at its last sign of life nor has been for days."""
    sign = sign_of_life(page)
    return bool(page.awake) and sign != silent and abs(now - (seconds(sign) or 0.0)) < _GONE


def sign_of_life(page: Page) -> str:
    """The last moment at which a machine is known to have been awake."""
    return max([page.awake, *(entry.at for entry in page.entries.values())])
