"""Pending items: which due items appear, in which section and order, which ones an answer closes, and how pending.md
shows them to a person, to every assistant at its start, and to every editor for ticking.

The same items give the same bytes on any machine: the page does not say when or where it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta

from vaultmem.light import NamedTuple
from vaultmem.memories.item_answers import (
    DONE,
    SNOOZED,
    Answer,
    Answers,
    completion_id,
    is_asleep,
    is_believed,
    is_closed,
    state_of,
)
from vaultmem.notes.places import OUTLINE
from vaultmem.reminders.due import TASK, Due
from vaultmem.text.sanitize import one_line, one_line_or_placeholder
from vaultmem.text.times import seconds
from vaultmem.text.values import LEAST_LISTED, SOON, fit_sections, plural, remembers_last, value

HEADINGS = {
    "today": "Today", "soon": f"Next {SOON} days", "overdue": "Overdue", "review": "To review",
    "preferences": "Preferences worth knowing",
}  # fmt: skip
PREFERENCES = "preferences"
OLDER = "older"  # long overdue, so only counted
RECENT = 14  # days for which overdue items are listed individually
MOST_QUESTIONS = 3  # whether to tick tasks in their notes
PRIVATE = "(private)"
LISTED = {**HEADINGS, OLDER: "Overdue for more than two weeks"}
_ORDER = {section: number for number, section in enumerate(LISTED)}


@value
class Item:
    """One thing that is pending."""

    id: str  # vm- and six letters, or more
    section: str  # a key of HEADINGS, or OLDER
    text: str  # as written in the note; sanitized for display
    due: str | None = None  # an ISO day, or day and time
    source: str = ""  # path:line
    title: str = ""  # its note's link name
    repeat: str | None = None  # in words
    asks: bool = False  # only for the person, hidden from assistants
    scope: str = "global"  # who may see it; the page itself is the person's
    private: bool = False  # in a private note, so hidden from assistants
    rank: int = 0  # order within a section and day
    author: str = ""  # the assistant that wrote it; "" for the person
    memory: str = ""  # the id of its memory
    known: str = ""  # for a preference, its day
    counts_others: bool = False  # represents more than the page lists


def due_items(dues: Sequence[Due], answers: Answers, now: datetime, days: int = SOON) -> list[Item]:
    """The pending items of the next days."""
    today, last = now.date().isoformat(), days_later(now.date(), days)
    return open_items(_items_until(dues, answers, today, last), answers, now)


@remembers_last
def _items_until(dues: Sequence[Due], answers: Answers, today: str, last: str) -> list[Item]:
    open_dues = (
        _put_off(due, answers.get(due.id))
        for due in dues
        if not is_over(due, answers) and is_listable(due, answers)
    )
    sections = ((due, section_of(due, today, last)) for due in open_dues)
    return [_item_of(due, name) for due, name in sections if name]


def _put_off(due: Due, answer: Answer | None) -> Due:
    """The same as of the day or minute until which it is snoozed."""
    until = answer.until if answer and answer.state == SNOOZED else ""
    if until <= (due.due or due.at):
        return due
    return due._replace(due=until) if due.due else due._replace(at=until)


def completion_questions(dues: Iterable[Due], answers: Answers, now: datetime) -> list[Item]:
    """One for each note with tasks done here, a few at a time and only for a limited time."""
    open_in_notes: dict[str, list[Due]] = {}
    for due in dues:
        # Once ticked in its note, it would no longer be due.
        is_done = due.kind == TASK and state_of(answers, due.id) == DONE
        if is_done and is_listable(due, answers):
            open_in_notes.setdefault(due.path, []).append(due)
    since = (now - timedelta(RECENT)).isoformat()
    last_done = {
        path: max(answers[task.id].at for task in some) for path, some in open_in_notes.items()
    }
    fresh = sorted(path for path, at in last_done.items() if at >= since)
    newest = sorted(fresh, key=lambda path: last_done[path], reverse=True)
    questions = open_items(
        (_completion_question(open_in_notes[path]) for path in newest), answers, now
    )
    return questions[:MOST_QUESTIONS]


def section_of(due: Due, today: str, last: str) -> str:
    """Its section: today, soon, overdue or older; "" for none, as for a task that has begun but has no due day."""
    day = (due.due or due.at)[:10]
    if not day or day > last or (day < today and (due.lapses or not due.due)):
        return ""
    if day == today:
        return "today"
    if day > today:
        return "soon"
    recent = (date.fromisoformat(today) - timedelta(RECENT)).isoformat()
    return "overdue" if day >= recent else OLDER


def is_over(due: Due, answers: Answers) -> bool:
    """Whether it is done or dropped, this time or for good."""
    return is_closed(answers, due.id) or is_closed(answers, due.series)


def is_listable(due: Due, answers: Answers) -> bool:
    """Whether it belongs to the person or an assistant, or was approved."""
    return is_believed(due.id, answers, foreign=due.foreign)


def place_of(due: Due) -> str:
    """Its place: the note, with the line if it has one."""
    return f"{due.path}:{due.line}" if due.line else due.path


def words_of(due: Due) -> str:
    """Its text, as far as assistants may see it."""
    return PRIVATE if due.private else due.words


def title_of(due: Due) -> str:
    """The title of its note, as far as assistants may see it."""
    return "" if due.private else due.title


def open_items(items: Iterable[Item], answers: Answers, now: datetime) -> list[Item]:
    """Items neither answered nor snoozed, without duplicates."""
    minute = now.isoformat()[:16]
    remaining = {
        item.id: item
        for item in items
        if not is_closed(answers, item.id) and not is_asleep(answers.get(item.id), minute)
    }
    return list(remaining.values())


def urgency(item: Item) -> tuple[int, int, str, int]:
    """The sort key: today, the days ahead, then overdue ones from yesterday back."""
    day, _ = day_and_time(item.due)
    number = date.fromisoformat(day).toordinal() if day else date.max.toordinal()
    near = -number if item.section in ("overdue", OLDER) else number
    return _ORDER[item.section], near, item.due or "~", item.rank


def day_and_time(due: str | None) -> tuple[str, str]:
    """The day and minute of an ISO time, each "" if missing or invalid."""
    day, _, clock = (due or "").partition("T")
    try:
        day = date.fromisoformat(day).isoformat()
    except ValueError:
        return "", ""
    try:
        return day, time.fromisoformat(clock[:5]).isoformat("minutes")
    except ValueError:
        return day, ""


def snoozed_until(named: str | None, now: datetime) -> str:
    """The end of a snooze: the day or minute named if in the future, else tomorrow."""
    today, minute = now.date().isoformat(), now.isoformat()[:16]
    if named and named > (today if len(named) == len(today) else minute):
        return named
    return days_later(now.date(), 1)


def days_later(day: date, days: int) -> str:
    """The day that many days later, at most the last day of the calendar."""
    return date.fromordinal(min(day.toordinal() + days, date.max.toordinal())).isoformat()


def unchanged_until(dues: Iterable[Due], answers: Answers, now: str) -> str:
    """The next local minute of this day at which other items may become pending; "" for none."""
    today = now[:10]
    ends = [answer.until for answer in answers.values() if answer.state == SNOOZED]
    # Recurring items keep their time of day.
    ends += [today + clock for due in dues if due.rolls for clock in (due.due[10:], due.at[10:])]
    return min(
        (end for end in ends if end > now and end[:10] == today and len(end) > 10), default=""
    )


def _item_of(due: Due, section: str) -> Item:
    """The item for the page, which assistants read: a private one is only mentioned."""
    return Item(
        due.id, section, words_of(due), due.due or due.at, place_of(due), title_of(due),
        due.repeat or None, scope=due.scope, private=due.private, author=due.author, memory=due.memory,
    )  # fmt: skip


def _completion_question(dues: Sequence[Due]) -> Item:
    """One for all tasks of a note, including those done here later."""
    due = dues[0]
    what = words_of(due) if len(dues) == 1 else plural(len(dues), "task")
    text = f"mark tasks of this note done there, too, from now on? {what}"
    return Item(
        completion_id(due.path), "review", text, None, place_of(due), title_of(due), private=due.private, rank=1
    )  # fmt: skip


# --- How the page shows them


class Extent(NamedTuple):
    """How many items the page shows."""

    items: int
    characters: int
    shows_older: bool  # whether to list long overdue items, too


SHORT = Extent(20, 4_000, shows_older=False)
FULL = Extent(500, 200_000, shows_older=True)
TITLE, NOTES = "Pending", "Notes"
MARKS = ("generated: vaultmem", "generated:: vaultmem")  # in a note, and in an outline
# With this property the Tasks plugin ignores the items; a person may set it to false.
NOT_FOR_TASKS = "TP_ignore_this_file"
HIDDEN = f"{NOT_FOR_TASKS}: true"
HOW_TO_ANSWER = (
    "Tick what is done. `[-]` in the box drops an item, and `[>] until friday` puts it off."
)
HOW_TO_ANSWER_BLOCKS = (
    "Mark what is done as DONE. CANCELED drops an item, and LATER with “until friday” puts it off."
)
NOTHING = "Nothing is pending."
# Boxes below the items: one extends the page until the day ends, the other reverts that.
VIEWS = SHOW_ALL, SHOW_LESS = "vm-showall", "vm-showless"
WORDS = 300  # characters of an item's words
_SHORT = 40  # characters of a rule, or of a name
_LEAST_ROOM = 4  # our part has a quarter of the page, however long the person's notes
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NOT_IN_LINKS = frozenset("[]|#^\\\n\r\t`<>@")


def extent(answers: Answers, now: datetime) -> Extent:
    """The extent of the page: full from the tick on "show all" until the day ends or "show less" is ticked."""
    expanded, taken_back = answers.get(SHOW_ALL), answers.get(SHOW_LESS)
    if expanded is None or expanded.state not in (DONE, SNOOZED):
        return SHORT
    at = seconds(expanded.at) or 0.0
    is_today = datetime.fromtimestamp(at, now.tzinfo).date() == now.date()
    is_over = taken_back is not None and taken_back.at >= expanded.at
    return FULL if is_today and not is_over else SHORT


def render(items: Iterable[Item], style: str, notes: str = "", extent: Extent = SHORT) -> str:
    """The page, within its limit; if the person's notes are long, our part gets a quarter of it."""
    every = [*items]
    single = [item for item in every if extent.shows_older or item.section != OLDER]
    older = len(every) - len(single)
    single.sort(key=lambda item: (*urgency(item), item.text, item.id))
    room = max(extent.characters - len(notes), extent.characters // _LEAST_ROOM)
    sections = {name: [item for item in single if item.section == name] for name in LISTED}
    for count in range(min(extent.items, len(single)), -1, -1):
        least = {name: count * number // extent.items for name, number in LEAST_LISTED.items()}
        chosen = [item for some in fit_sections(sections, count, least).values() for item in some]
        last = _last_line(chosen, len(single) - count, older, extent)
        text = _our_part(chosen, last, style)
        if len(text) <= room:
            break
    return text + notes


def _last_line(listed: Iterable[Item], more: int, older: int, extent: Extent) -> tuple[str, str]:
    counts = [f"{more:,} more"] if more else []
    counts += [f"{older:,} overdue for more than two weeks"] if older else []
    if extent.shows_older:
        return ": ".join(["show less", *counts]), SHOW_LESS
    if counts or any(item.counts_others for item in listed):
        return f"show all{': ' if counts else ''}{', '.join(counts)}", SHOW_ALL
    return "", ""


def display_text(item: Item) -> str:
    """The text of an item on a page."""
    return one_line_or_placeholder(item.text, WORDS)


def _our_part(items: Sequence[Item], last: tuple[str, str], style: str) -> str:
    outline = style == OUTLINE
    bullet, gap = ("- ", "") if outline else ("", "\n")
    head = f"{MARKS[1]}\n\n" if outline else f"---\n{MARKS[0]}\n{HIDDEN}\n---\n\n# {TITLE}\n\n"
    parts = [head]
    if items:
        parts.append(f"{bullet}{HOW_TO_ANSWER_BLOCKS if outline else HOW_TO_ANSWER}\n{gap}")
    for section, heading in LISTED.items():
        lines = [
            _block(item) if outline else _line(item) for item in items if item.section == section
        ]
        if lines:
            parts.append(f"{bullet}## {heading}\n{gap}{''.join(lines)}{gap}")
    text, id_ = last
    if id_:
        parts.append(f"- TODO {text}\n  vm-id:: {id_}\n" if outline else f"- [ ] {text} ^{id_}\n\n")
    if not (items or id_):
        parts.append(f"{bullet}{NOTHING}\n{gap}")
    return "".join([*parts, f"{bullet}## {NOTES}\n"])


def _line(item: Item) -> str:
    """A box to tick. Time and repetition are words, so that no plugin lists the item again."""
    box = "" if item.section == PREFERENCES else "[ ] "
    return f"- {box}{' '.join(own_words(item))} ^{item.id}\n"


def _block(item: Item) -> str:
    marker = "" if item.section == PREFERENCES else "TODO "
    return f"\t- {marker}{' '.join(own_words(item))}\n\t  vm-id:: {item.id}\n"


def own_words(item: Item) -> list[str]:
    """Our part of an item's line: the words, time, author and link. The rest was typed by a person."""
    day, clock = day_and_time(item.due)
    weekday = WEEKDAYS[date.fromisoformat(day).weekday()] if day else ""
    when = " ".join(part for part in (weekday, day, clock) if part)
    by = f"by {one_line(item.author, _SHORT)}" if item.author else ""
    details = ", ".join(part for part in (when, one_line(item.repeat or "", _SHORT), by) if part)
    text, link = display_text(item), _link(item.title)
    if link == f"[[{text}]]":  # the title is the text
        text, link = link, ""
    parts = (text, f"({details})" if details else "", link)
    return [part for part in parts if part]


def _link(title: str) -> str:
    """A link to the note; a title that no link can hold becomes plain words."""
    plain = one_line(title)
    if not plain or plain != title or _NOT_IN_LINKS & set(title):
        return plain and f"({plain})"
    return f"[[{title}]]"
