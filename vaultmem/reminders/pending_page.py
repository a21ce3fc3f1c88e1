"""The page pending.md: what waits for a person, for every assistant that starts, and for every editor to tick.

The same items give the same bytes on any machine: nothing in it says when or where it was written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from vaultmem.memories import model
from vaultmem.text.sanitize import one_line, words
from vaultmem.text.values import value

OUTLINE = "outline"  # of Logseq; any other style is a note of Obsidian
MOST, MOST_ITEMS = 4_000, 20
TITLE, NOTES = "Pending", "Notes"
OLDER = "older"  # overdue for so long that one line counts it
HEADINGS = {
    "today": "Today",
    "soon": "Next 7 days",
    "overdue": "Overdue",
    "review": "To review",
    "preferences": "Preferences worth knowing",
}
PREFERENCES = "preferences"
MARKS = ("generated: vaultmem", "generated:: vaultmem")  # of a note, and of an outline
NOTHING = "Nothing is pending."
MORE = "more: vaultmem pending --all"
OLDER_MORE = "overdue for more than two weeks: vaultmem pending --all"
WORDS = 300  # characters of the words of an item
_SHORTEST_ID = 6
_SHORT = 40  # characters of a repetition, or of a name
_LEAST_ROOM = 4  # our part has a quarter of the page, however long the notes of a person are
LEAST = {
    "soon": 2,
    "overdue": 4,
    "review": 3,
    "preferences": 3,
}  # items of 20, whatever stands before them
_RANK = {section: number for number, section in enumerate((*HEADINGS, OLDER))}
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
_NOT_IN_LINKS = frozenset("[]|#^\\\n\r\t`<>@")


@value
class Item:
    """One thing that waits."""

    id: str  # vm- and six letters, or more
    section: str  # a key of HEADINGS
    text: str  # as it stands in the note; it is defused where it is shown
    due: str | None = None  # an ISO day, or day and time
    source: str = ""  # path:line
    title: str = ""  # of the note it is from, as a link names it
    repeat: str | None = None  # in words
    asks: bool = False  # only the person may answer it, and assistants are not told of it
    scope: str = "global"  # who sees it; the page itself is the person's
    rank: int = 0  # what of one section and day comes first
    author: str = ""  # the assistant that wrote it; "" for the person
    memory: str = ""  # the id of the memory that it tells of


item_id, _digest = model.item_id, model.item_digest


def item_ids(named: Sequence[tuple[str, str]]) -> list[str]:
    """Ids of sources and keys, in their order and all different, whatever order they come in: where two begin
    alike, the one with the lower digest stays short. Of one pair that comes twice, the second is another thing."""
    seen: Counter[tuple[str, str]] = Counter()
    digests = []
    for pair in named:
        source, key = pair
        digests.append(_digest(source, f"{key}\0{seen[pair]}" if seen[pair] else key))
        seen[pair] += 1
    short: dict[str, str] = {}
    taken: set[str] = set()
    for digest in sorted(digests):
        length = _SHORTEST_ID
        while digest[:length] in taken:
            length += 1
        short[digest] = digest[:length]
        taken.add(digest[:length])
    return [f"vm-{short[digest]}" for digest in digests]


def render(
    items: Iterable[Item],
    style: str,
    notes: str = "",
    most: int = MOST,
    most_items: int = MOST_ITEMS,
) -> str:
    """The page. It has at most `most` characters unless the notes of the person, which stay as they are, need more:
    then our part has a quarter of that."""
    every = sorted(items, key=lambda item: (*_urgency(item), item.text, item.id))
    single = [item for item in every if item.section != OLDER]
    older = len(every) - len(single)
    room = max(most - len(notes), most // _LEAST_ROOM)
    for count in range(min(most_items, len(single)), -1, -1):
        text = _generated(_chosen(single, count), len(single) - count, older, style)
        if len(text) <= room:
            break
    return text + notes


def ordered(items: Iterable[Item]) -> list[Item]:
    """The most urgent first: today, the days to come, then what is overdue, from yesterday back."""
    return sorted(items, key=_urgency)


def _urgency(item: Item) -> tuple[int, int, str, int]:
    day, _ = due_parts(item)
    number = date.fromisoformat(day).toordinal() if day else date.max.toordinal()
    near = -number if item.section in ("overdue", OLDER) else number
    return _RANK[item.section], near, item.due or "~", item.rank


def _chosen(ordered: Sequence[Item], count: int) -> list[Item]:
    """So many of them, the most urgent first; each section leaves room for those after it."""
    by_section = {name: [item for item in ordered if item.section == name] for name in HEADINGS}
    least = {
        name: min(len(by_section[name]), count * LEAST.get(name, 0) // MOST_ITEMS)
        for name in HEADINGS
    }
    chosen: list[Item] = []
    for name, there in by_section.items():
        later = sum(least[other] for other in HEADINGS if _RANK[other] > _RANK[name])
        chosen += there[: count - len(chosen) - later]
    return chosen


def shown_text(item: Item) -> str:
    """The words of an item as a page has them."""
    return words(item.text, WORDS)


def _generated(items: Sequence[Item], more: int, older: int, style: str) -> str:
    outline = style == OUTLINE
    parts = [f"{MARKS[1]}\n\n" if outline else f"---\n{MARKS[0]}\n---\n\n# {TITLE}\n\n"]
    bullet = "- " if outline else ""
    for section, heading in HEADINGS.items():
        lines = [
            _block(item) if outline else _line(item) for item in items if item.section == section
        ]
        if lines:
            gap = "" if outline else "\n"
            parts.append(f"{bullet}## {heading}\n{gap}{''.join(lines)}{gap}")
    gap = "" if outline else "\n"
    for count, said in ((older, OLDER_MORE), (more, MORE)):
        if count:
            parts.append(f"{bullet}+{count} {said}\n{gap}")
    if not (items or older or more):
        parts.append(f"{bullet}{NOTHING}\n{gap}")
    return "".join([*parts, f"{bullet}## {NOTES}\n"])


def _line(item: Item) -> str:
    """A task as the Tasks plugin reads it. Time and repetition are words: no plugin shall ring a second time, or add
    the next one below."""
    day, clock = due_parts(item)
    box = "" if item.section == PREFERENCES else "[ ] "
    words = _words(item, clock)
    date_field = f" 📅 {day}" if day else ""
    return f"- {box}{words}{date_field} ^{item.id}\n"


def _block(item: Item) -> str:
    day, clock = due_parts(item)
    marker = "" if item.section == PREFERENCES else "TODO "
    lines = [f"\t- {marker}{_words(item, '')}"]
    if day:
        weekday = _WEEKDAYS[date.fromisoformat(day).weekday()]
        lines.append(f"\t  DEADLINE: <{day} {weekday}{f' {clock}' if clock else ''}>")
    lines.append(f"\t  vm-id:: {item.id}")
    return "".join(f"{line}\n" for line in lines)


def _words(item: Item, clock: str) -> str:
    parts = [shown_text(item), _said(item, clock), _link(item.title)]
    return " ".join(part for part in parts if part)


def _said(item: Item, clock: str) -> str:
    """The time, the repetition and the author in words."""
    by = f"by {one_line(item.author, _SHORT)}" if item.author else ""
    said = ", ".join(part for part in (clock, one_line(item.repeat or "", _SHORT), by) if part)
    return f"({said})" if said else ""


def own_words(item: Item) -> list[str]:
    """What in the line of an item is ours, however it is shown: all else somebody has typed."""
    said = (_said(item, due_parts(item)[1]), _said(item, ""))
    parts = (shown_text(item), *dict.fromkeys(said), _link(item.title))
    return [part for part in parts if part]


def _link(title: str) -> str:
    """A link to the note; a title that no link can hold is shown as words."""
    plain = one_line(title)
    if not plain or plain != title or _NOT_IN_LINKS & set(title):
        return plain and f"({plain})"
    return f"[[{title}]]"


def due_parts(item: Item) -> tuple[str, str]:
    """The day and the time an item is due, each "" where there is none or no such."""
    day, _, clock = (item.due or "").partition("T")
    try:
        day = date.fromisoformat(day).isoformat()
    except ValueError:
        return "", ""
    return day, clock[:5] if _CLOCK.match(clock) else ""


# The lines of a page of pending items as editors and people leave them: which are ours, what a box says.

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_BULLET = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+|$|(?=\\?\[))")
_BOX = re.compile(r"\\?\[[ \t]*([^\]\[\s]?)[ \t]*\\?\](?=[ \t]|$)")
_MARKER = re.compile(r"([A-Z][A-Z-]+)(?=[ \t]|$)")
_ID = re.compile(r"(?<!\S)\\?\^(vm-[a-z2-7]{6,})(?![\w-])", re.IGNORECASE)
_ID_PROPERTY = re.compile(r"[ \t]*vm-id::[ \t]*(vm-[a-z2-7]{6,})[ \t]*", re.IGNORECASE)
_DEADLINE = re.compile(r"[ \t]*(?:DEADLINE|SCHEDULED):[ \t]*<(\d{4}-\d\d-\d\d)[^<>]*>[ \t]*")
_OF_BLOCK = re.compile(
    r"[ \t]*(?:id:: *[0-9a-f-]{36}|collapsed:: *\w+|:LOGBOOK:|CLOCK:.*|:END:)[ \t]*", re.IGNORECASE
)
_HEADING = re.compile(r"[ \t]*(?:[-*+][ \t]+)?#{1,6}[ \t]+")
_MORE = re.compile(
    rf"[ \t]*(?:[-*+][ \t]+)?\\?\+\d+ (?:{re.escape(MORE)}|{re.escape(OLDER_MORE)})[ \t]*"
)
_NOTHING = re.compile(rf"[ \t]*(?:[-*+][ \t]+)?{re.escape(NOTHING)}[ \t]*")
_MARK = re.compile(r"[ \t]*generated::?[ \t]*[\"']?vaultmem[\"']?[ \t]*", re.IGNORECASE)
_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: .*)?")
_OURS = frozenset(heading.casefold() for heading in HEADINGS.values())
_STATES = {
    **dict.fromkeys(["x", "X", "✓", "✔", "☑", "✅", "DONE"], "done"),
    **dict.fromkeys(["-", "CANCELED", "CANCELLED"], "dropped"),
    **dict.fromkeys([">", "LATER"], "snoozed"),
    **dict.fromkeys(["TODO", "DOING", "NOW", "WAITING", "WAIT", "IN-PROGRESS", "STARTED"], "open"),
}


class Found(NamedTuple):
    """An item as the page has it."""

    id: str  # "" when the line has lost it
    state: str  # open, done, dropped or snoozed
    words: str  # behind the box
    day: str  # of an outline's DEADLINE, or ""


class Piece(NamedTuple):
    """An item with the lines that belong to it: its own, and those of others between them."""

    found: Found
    others: list[str]
    end: int  # the number of the line after it


def lines_of(text: str) -> list[str]:
    """The lines, each with its end, whatever system wrote it."""
    return _LINE.findall(text)


def bare(line: str) -> str:
    """A line without its end, and without what a wrong encoding has put between its letters."""
    return line.rstrip("\r\n").replace("\0", "").replace("\ufeff", "").replace("\xa0", " ")


def heading(line: str) -> str:
    """The words of a heading, lower case; "" for any other line."""
    shown = bare(line)
    mark = _HEADING.match(shown)
    return shown[mark.end() :].rstrip("# \t").casefold() if mark else ""


def is_notes(line: str) -> bool:
    """Whether the part of a person begins here."""
    return heading(line) == NOTES.casefold()


def is_section(line: str) -> bool:
    """Whether this is the heading of one of our sections."""
    return heading(line) in _OURS


def is_conflict(line: str) -> bool:
    """Whether a merge has left this line."""
    return bool(_CONFLICT.fullmatch(bare(line)))


def is_mark(line: str) -> bool:
    """Whether the line says who writes the page; linters quote such words."""
    return bool(_MARK.fullmatch(bare(line)))


def is_ours(line: str) -> bool:
    """Whether the line is one that we write on every page, and that says nothing."""
    shown = bare(line)
    plain = shown.strip(" \t-*+")
    if heading(line) == TITLE.casefold() or is_section(line) or is_mark(plain):
        return True
    return any(form.fullmatch(shown) for form in (_MORE, _NOTHING, _ID_PROPERTY))


def piece(lines: list[str], at: int) -> Piece | None:
    """The item that begins at a line: one with an id, or one with a box that has lost it. None for any other."""
    shown = bare(lines[at])
    bullet = _BULLET.match(shown)
    if not bullet:
        return None
    state, words = _state(shown[bullet.end() :])
    own = _ID.search(shown)
    end, identity, day = (at + 1, own[1], "") if own else _block_end(lines, at + 1)
    if not identity and state is None:
        return None
    if not identity:
        return Piece(Found("", state or "open", words, ""), [], at + 1)
    others = [line for line in lines[at + 1 : end] if not _belongs(bare(line))]
    return Piece(
        Found(identity.lower(), state or "open", _ID.sub("", words).strip(), day), others, end
    )


def _state(words: str) -> tuple[str | None, str]:
    """What a box or a marker says, and the words behind it; None where there is neither."""
    words = words.lstrip("> \t") if not words.startswith(">]") else words
    box = _BOX.match(words)
    if box:
        return _STATES.get(box[1], "open"), words[box.end() :].strip()
    marker = _MARKER.match(words)
    if marker and marker[1] in _STATES:
        return _STATES[marker[1]], words[marker.end() :].strip()
    return None, words.strip()


def _block_end(lines: list[str], start: int) -> tuple[int, str, str]:
    """Where the block of an outline ends that begins above, its id and its day."""
    identity = day = ""
    last = start
    for at in range(start, len(lines)):
        shown = bare(lines[at])
        if not shown.strip() or _BULLET.match(shown) or _HEADING.match(shown):
            break
        named, dated = _ID_PROPERTY.fullmatch(shown), _DEADLINE.fullmatch(shown)
        if named and identity:
            break
        identity = named[1] if named else identity
        day = dated[1] if dated else day
        last = at + 1 if _belongs(shown) else last
    return last, identity, day


def _belongs(shown: str) -> bool:
    """Whether a line below an item is part of it, and not a remark of a person."""
    return any(form.fullmatch(shown) for form in (_ID_PROPERTY, _DEADLINE, _OF_BLOCK))
