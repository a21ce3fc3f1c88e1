"""What a person did on pending.md: ticks, recognized by their item's id wherever it is, and lines of their own.

Lines that are not ours go to the notes, whatever happened to the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from vaultmem.light import NamedTuple
from vaultmem.memories.item_answers import DONE, DROPPED, OPEN, SNOOZED
from vaultmem.notes.places import OUTLINE
from vaultmem.reminders import items as page
from vaultmem.reminders.items import SHORT, Extent, Item
from vaultmem.text.values import lazy


class Tick(NamedTuple):
    """An item as on the page."""

    id: str
    state: str  # OPEN, DONE, DROPPED or SNOOZED
    words: str  # after the box
    day: str  # the day of an outline's DEADLINE, or ""
    mark: str = ""  # the mark for OPEN once begun: DOING, or "/" in a box


class Ack(NamedTuple):
    """A person's decision about an item on the page."""

    state: str
    until: str | None = None  # end of a snooze, an ISO day or time


class Content(NamedTuple):
    """The content of a page. Lines keep their ends."""

    ticks: list[Tick]
    notes: list[str]  # a person's lines: below the heading Notes, then elsewhere
    front: list[str]  # properties that a person added at the top
    end: str  # indentation of our lines, from the first one
    is_whole: bool  # False: the mark is gone, or there are merge marks
    unread: Mapping[str, str] = {}  # by item, words such as "until someday" that name no day


_LINE = lazy(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_BULLET = lazy(r"[ \t>]*(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+|$|(?=\\?\[))")
_BOX = lazy(r"[> \t]*\\?\[[ \t]*([^\]\[\s]?)[ \t]*\\?\](?=[ \t]|$)")
_MARKER = lazy(r"[> \t]*([A-Z][A-Z-]+)(?=[ \t]|$)")
_ID = lazy(r"(?<!\S)\\?\^(vm-[a-z2-7]{6,})(?![\w-])", re.IGNORECASE)
_ID_PROPERTY = lazy(r"[ \t]*vm-id::[ \t]*(vm-[a-z2-7]{6,})[ \t]*", re.IGNORECASE)
_DEADLINE = lazy(r"[ \t]*(?:DEADLINE|SCHEDULED):[ \t]*<(\d{4}-\d\d-\d\d)[^<>]*>[ \t]*")
_OF_BLOCK = lazy(
    r"[ \t]*(?:id:: *[0-9a-f-]{36}|collapsed:: *\w+|:LOGBOOK:|CLOCK:.*|:END:)[ \t]*", re.IGNORECASE
)
_HEADING = lazy(r"[ \t]*(?:[-*+][ \t]+)?#{1,6}[ \t]+")
_MARK = lazy(r"[ \t*+-]*generated::?[ \t]*[\"']?vaultmem[\"']?[ \t]*", re.IGNORECASE)
_SENTENCES = "|".join(map(re.escape, (page.NOTHING, page.HOW_TO_ANSWER, page.HOW_TO_ANSWER_BLOCKS)))
_GENERATED = lazy(rf"[ \t]*(?:[-*+][ \t]+)?(?:{_SENTENCES})[ \t]*")
_CONFLICT = lazy(r"(<{7}|={7}|>{7}|\|{7})(?: .*)?")
_HEADINGS = frozenset(heading.casefold() for heading in (page.TITLE, *page.LISTED.values()))
_STATES = {
    **dict.fromkeys(["x", "X", "✓", "✔", "☑", "✅", "DONE"], DONE),
    **dict.fromkeys(["-", "CANCELED", "CANCELLED"], DROPPED),
    **dict.fromkeys([">", "LATER"], SNOOZED),
    **dict.fromkeys(["TODO", "DOING", "NOW", "WAITING", "WAIT", "IN-PROGRESS", "STARTED"], OPEN),
}
_HEAD = 200  # lines that may hold properties


def read(text: str) -> Content:
    """The content of a page, in either style; of a merge conflict above the notes, all that either side has."""
    lines = _LINE.findall(text)
    marked, sides = _is_marked(lines), _sides(lines)
    first, *others = (_read(side, marked=marked) for side in sides)
    for other in others:
        first.ticks.extend(other.ticks)
        first.notes.extend(missing_lines(first.notes, other.notes))
        first.front.extend(line for line in other.front if line not in first.front)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    return first._replace(end=end, is_whole=marked and not others)


def _sides(lines: list[str]) -> list[list[str]]:
    """The lines, divided at the marks of a conflict; one that begins in the notes is for the person to resolve."""
    sides: list[list[str]] = [[]]
    in_notes = is_merged = False
    for line in lines:
        sign = _CONFLICT.fullmatch(_bare(line))
        in_notes = in_notes or _heading(line) == page.NOTES.casefold()
        is_merged = is_merged or bool(sign and sign[1][0] == "<" and not in_notes)
        if sign and is_merged:
            sides.append([])
        else:
            sides[-1].append(line)
    return sides


def _read(lines: list[str], *, marked: bool) -> Content:
    front, at = _properties(lines)
    ticks, notes, elsewhere = list[Tick](), list[str](), list[str]()
    in_notes = False
    while at < len(lines):
        line = lines[at]
        if not in_notes and _heading(line) == page.NOTES.casefold():
            in_notes, at = True, at + 1
            continue
        tick, remarks, end = _tick(lines, at) or (None, [], at + 1)
        ticks += [tick] if tick else []
        if in_notes:
            notes.append(line)
            end = at + 1
        elif tick:
            elsewhere += remarks
        elif _bare(line).strip() and not (_is_ours(line, marked=marked) or line in front):
            elsewhere.append(line)
        at = end
    return Content(ticks, [*notes, *elsewhere], front, "", is_whole=marked)


def _properties(lines: list[str]) -> tuple[list[str], int]:
    """A person's additions to the properties at the top, and the number of the line below them."""
    top = [_bare(line).rstrip() for line in lines[:_HEAD]]
    fenced = top[:1] == ["---"] and "---" in top[1:]
    others = (at for at, line in enumerate(top) if "::" not in line)
    end = top.index("---", 1) + 1 if fenced else next(others, len(top))
    if not any(map(_MARK.fullmatch, top[:end])):
        return [], 0
    inside = range(1, end - 1) if fenced else range(end)
    return [
        lines[at] for at in inside if not _MARK.fullmatch(top[at]) and top[at] != page.HIDDEN
    ], end


def _is_ours(line: str, *, marked: bool) -> bool:
    bare = _bare(line)
    if _heading(line) in _HEADINGS or bare.strip() == page.HIDDEN:
        return True
    if any(form.fullmatch(bare) for form in (_GENERATED, _MARK, _ID_PROPERTY)):
        return True
    return marked and (bare.rstrip() == "---" or bool(_CONFLICT.fullmatch(bare)))


def is_page(text: str) -> bool:
    """Whether it is our page, even if damaged or empty, and not a person's note of that name."""
    if not text.strip("\ufeff\0 \t\r\n"):
        return True
    lines = _LINE.findall(text)
    if _is_marked(lines):
        return True
    titled = any(_heading(line) in _HEADINGS for line in lines)
    return titled and any(_tick(lines, at) for at in range(len(lines)))


def _is_marked(lines: Sequence[str]) -> bool:
    """Whether the mark is a line of the page, and not an example in a note about such pages."""
    fenced = False
    for line in map(_bare, lines[:_HEAD]):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and _MARK.fullmatch(line):
            return True
    return False


def _bare(line: str) -> str:
    return line.rstrip("\r\n").replace("\xa0", " ")  # which a keyboard may write for a blank


def _heading(line: str) -> str:
    bare = _bare(line)
    mark = _HEADING.match(bare)
    return bare[mark.end() :].rstrip("# \t").casefold() if mark else ""


def _tick(lines: Sequence[str], at: int) -> tuple[Tick, list[str], int] | None:
    """The item with an id that begins at a line, the person's remarks in its block, and the line after it."""
    bare = _bare(lines[at])
    bullet = _BULLET.match(bare)
    if not bullet:
        return None
    id_match = _ID.search(bare)
    state, mark, text = _state(bare[bullet.end() :])
    if id_match:
        return Tick(id_match[1].lower(), state, _ID.sub("", text).strip(), "", mark), [], at + 1
    id_ = day = ""
    remarks: list[str] = []
    for end in range(at + 1, len(lines) + 1):
        below = _bare(lines[end]) if end < len(lines) else ""
        named, dated = _ID_PROPERTY.fullmatch(below), _DEADLINE.fullmatch(below)
        if not below.strip() or _BULLET.match(below) or _HEADING.match(below) or (named and id_):
            break
        id_ = named[1].lower() if named else id_
        day = dated[1] if dated else day
        if not (named or dated or _OF_BLOCK.fullmatch(below)):
            remarks.append(lines[end])
    return (Tick(id_, state, text, day, mark), remarks, end) if id_ else None


def _state(text: str) -> tuple[str, str, str]:
    """The state of an item, its mark, and its words."""
    box = _BOX.match(text)
    if box:
        return _STATES.get(box[1], OPEN), box[1], text[box.end() :].strip()
    marker = _MARKER.match(text)
    if marker and marker[1] in _STATES:
        return _STATES[marker[1]], marker[1], text[marker.end() :].strip()
    return OPEN, "", text.strip()


# --- Composing


def missing_lines(notes: Iterable[str], lines: Iterable[str]) -> list[str]:
    """The lines that the person did not also write there."""
    there = Counter(map(_bare, notes))
    missing = []
    for line in lines:
        if there[_bare(line)]:
            there[_bare(line)] -= 1
        else:
            missing.append(line)
    return missing if any(_bare(line).strip() for line in missing) else []


def compose(
    content: Content, items: Iterable[Item], style: str, more: Sequence[str] = (), extent: Extent = SHORT
) -> str:  # fmt: skip
    """The page with these items, the person's lines of the old page, and lines that only copies have."""
    front = content.front
    if style == OUTLINE:  # any other line would end the properties
        front = [line for line in front if "::" in line]
    more = missing_lines(content.notes, more)
    note_lines = [*content.notes, *(line for line in content.front if line not in front), *more]
    notes = "".join([*map(_ended, note_lines[:-1]), *note_lines[-1:]])
    whole = page.render(items, style, notes, extent)
    ours = whole[: len(whole) - len(notes)]
    if front:
        mark = page.MARKS[style == OUTLINE]
        ours = ours.replace(f"{mark}\n", f"{mark}\n{''.join(map(_ended, front))}", 1)
        if any(line.startswith(page.NOT_FOR_TASKS) for line in front):
            ours = ours.replace(f"{page.HIDDEN}\n", "", 1)
    return re.sub(r"\r?\n", content.end, _as_typed(ours, content)) + notes


def _as_typed(page: str, content: Content) -> str:
    """The page with what a person typed to open items: marks such as DOING, and "until someday" as a question."""
    for id_, words in content.unread.items():
        question = f" {words}?".replace("\\", r"\\")
        page = re.sub(rf"(?=(?:\n[ \t]*vm-id:: | \^){id_}\n)", question, page)
    for tick in content.ticks:
        if tick.state == OPEN and tick.mark:
            is_box = len(tick.mark) == 1
            ours = r"\[ \]" if is_box else "TODO"
            theirs = f"[{tick.mark}]".replace("\\", r"\\") if is_box else tick.mark
            line = rf"(?<=- ){ours}(?= [^\n]*(?:\n[ \t]*vm-id:: | \^){tick.id}\n)"
            page = re.sub(line, theirs, page)
    return page


def _ended(line: str) -> str:
    return line if line.endswith(("\n", "\r")) else f"{line}\n"


_LOOKED_AT = 300  # characters
_DAY = lazy(r"(?<![\d-])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?(?![\d-])")
_FIELD = r"📅\ufe0f? ?"
_DATED = rf"(?:{_FIELD}|\((?:{'|'.join(page.WEEKDAYS)}) )\d{{4}}-\d\d-\d\d"
_UNTIL = lazy(r"\b(?:until|till|til)\b|[直延]?[到至]", re.IGNORECASE)
_WIKILINK = lazy(r"\[\[([^\[\]]*)\]\]")
_DECIDED = (DONE, DROPPED, SNOOZED)  # of two copies of an item, the first of these wins


def answers_on(
    content: Content, items: Mapping[str, Item], now: datetime
) -> tuple[dict[str, Ack], dict[str, str]]:
    """A person's decisions on a page, by item id; and, for known items, words such as "until someday" that name no day,
    or that became a question."""
    acks, undated = dict[str, Ack](), dict[str, str]()
    for tick in content.ticks:
        item, until = items.get(tick.id), None
        if tick.state in (OPEN, SNOOZED):
            typed = _typed(tick, item)
            until = _snoozed_until(tick, item, typed, now) if tick.state == SNOOZED else None
            is_question = typed.words.endswith("?") if tick.state == OPEN else not until
            if item and typed.until and is_question:
                undated[tick.id] = f"{typed.until} {typed.words.strip('?. ')}"
                continue
        if tick.state != OPEN:
            acks[tick.id] = stronger(acks.get(tick.id), Ack(tick.state, until))
    return acks, undated


def stronger(one: Ack | None, other: Ack) -> Ack:
    """The more definite of two answers; of two snoozes the one with a day, then the later day."""
    if one is None:
        return other
    first, second = _DECIDED.index(one.state), _DECIDED.index(other.state)
    if first != second:
        return one if first < second else other
    return max(one, other, key=lambda ack: ack.until or "")


class _Typed(NamedTuple):
    until: str  # the word for "until", or ""
    words: str  # after it, or all, without links to the note and without ours
    has_ours: bool  # whether the line had words of ours


def _typed(tick: Tick, item: Item | None) -> _Typed:
    ours = [_DATED]
    if item:  # otherwise the date may be the one that we wrote
        written = page.day_and_time(item.due)[0]
        ours = [*map(re.escape, page.own_words(item)), _FIELD + (written or "-")]
    text = re.sub("|".join(ours), " ", tick.words)
    until = _UNTIL.search(text)
    # "until [[2026-11-25]]" names a day; any other link is probably to the note, under an older name.
    words = _WIKILINK.sub(r" . \1 . ", text[until.end() :]) if until else _WIKILINK.sub(" . ", text)
    return _Typed(until[0] if until else "", words.strip(), text != tick.words)


def _snoozed_until(tick: Tick, item: Item | None, typed: _Typed, now: datetime) -> str | None:
    written = page.day_and_time(item.due)[0] if item else ""
    if typed.until or (item and typed.has_ours):
        from vaultmem.plugins import language  # the grammar is only needed for snoozes in words

        words = typed.words[:_LOOKED_AT]
        days = [moment.iso() for moment in language().times(words, now)]
        if words and not days:  # until 12/25, until January
            phrase = language().time_alone(words, now)
            days = [phrase.moment.iso()] if phrase.moment and not phrase.rest else []
    else:
        days = [match[0].replace(" ", "T") for match in _DAY.finditer(typed.words)]
    if not typed.until:
        days = [day for day in days if day not in (written, item and item.due)]
    if item and tick.day != written:
        days.insert(0, tick.day)
    return next((day for day in days if page.day_and_time(day)[0]), None)
