"""What is due by the properties of a note: due, deadline, remind, scheduled, repeat, the date of a reminder; and whose
words a note has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.languages.when import find, iso
from vaultmem.memories.model import DREAM, is_connected
from vaultmem.reminders.due import NOTE, REMINDER, Due
from vaultmem.reminders.due_texts import Place, Wish, rule_of
from vaultmem.vault.places import key_of

OWN = DREAM
_MOST = 50  # values of one property
_LONGEST = 200  # characters of a value
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:(?:T|\s+)(\d{1,2}:\d\d)(?::\d\d(?:\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?"
)
_LINK = re.compile(r"!?\[\[([^\[\]|]{1,200})(?:\|[^\[\]]{0,200})?\]\]")
_CLOSED = frozenset(
    "done completed complete closed finished cancelled canceled dropped archived 完成 已完成 取消 已取消".split()
)
_TEMPLATE = re.compile(
    r"(?:^|[/ _-])(?:templates?|模板)(?:[ _-][^/]*)?(?:/|\.[a-z]+$|$)", re.IGNORECASE
)
_WRITTEN_KEYS = (
    "created",
    "created_at",
    "created-at",
    "date created",
    "updated",
    "modified",
    "published",
    "创建时间",
)


def is_foreign(path: str, properties: Mapping[str, Value], folder: str) -> bool:
    """Whether the words of a note are those of others. Those of an assistant that says its name are not: the person has
    connected it."""
    if path.startswith(folder + "/"):
        told = ((key_of(key).lower(), value) for key, value in properties.items() if value)
        return any(
            key == "url"
            or (key == "agent" and not is_named(value))
            or (key == "source" and value != OWN)
            or (key == "phase" and value == "inbox")
            for key, value in told
        )
    folders = path.casefold().split("/")[:-1]
    if "clippings" in folders:
        return True
    return any(key.lower() in ("source", "url") and value for key, value in properties.items())


def author(properties: Mapping[str, Value]) -> str:
    """The assistant that wrote a memory; "" for the person."""
    told = (value for key, value in properties.items() if key_of(key).lower() == "agent" and value)
    found = next(told, "")
    return found.strip() if isinstance(found, str) else ""


def is_named(agent: Value) -> bool:
    """Whether an assistant says its name."""
    return isinstance(agent, str) and bool(agent.strip()) and is_connected(agent.strip())


def is_generated(properties: Mapping[str, Value]) -> bool:
    """Whether we have written the note: a copy of pending.md, or the page of another machine with other settings.
    What it lists is due where it comes from; read as tasks, it would bring itself forth again and again."""
    found = properties.get("generated")
    return isinstance(found, str) and found.strip().lower() == "vaultmem"


def is_template(path: str) -> bool:
    """Whether a note is there to be copied, by its name or folder."""
    return _TEMPLATE.search(path) is not None


def memory_id(path: str, properties: Mapping[str, Value], folder: str) -> str:
    """The id of a memory; "" for any other note."""
    found = properties.get("id")
    return found if isinstance(found, str) and found and path.startswith(folder + "/") else ""


class Own(NamedTuple):
    """What the note is itself."""

    memory: str  # its id, if it is a memory
    text: str  # how it begins
    journal: bool
    reminder: bool  # it is a memory that reminds


def wishes(place: Place, properties: Mapping[str, Value], own: Own) -> Iterator[Wish]:
    """What the properties of a note ask for."""
    memory = own.memory
    folded = {key.lower(): value for key, value in properties.items()}
    if _is_closed(folded) or is_template(place.path):
        return
    dues = [day for key in ("due", "deadline") for day in _moments(place, folded.get(key))]
    reminds = list(_moments(place, folded.get("remind")))
    kind = REMINDER if memory else NOTE
    start = Due(
        "", kind, own.text if memory else place.title, "", "", place.path, 0, place.title,
        foreign=place.foreign, memory=memory,
    )  # fmt: skip
    source = memory or place.stem
    repeat = folded.get("repeat")
    first = min((*dues, *reminds), default="2000-01-01")
    since = datetime.fromisoformat(first[:10]).replace(tzinfo=place.written.zone)
    rule = rule_of(repeat, since) if isinstance(repeat, str) else ""
    pairs = _pairs(dues, reminds)
    for due, at in pairs:
        yield Wish(
            start._replace(due=due, at=at, repeat=rule or _words(repeat), rolls=bool(rule)),
            source,
            rule,
        )
    if own.journal:
        return
    taken = {due[:10] for due, _ in pairs} | _written_days(place.path, folded)
    # Of any other note, its date says when something was, or what it is about.
    keys = ("scheduled", "date") if own.reminder else ("scheduled",)
    for key in keys:
        for day in _moments(place, folded.get(key)):
            if day[:10] not in taken:
                seen = "" if "T" in day else place.written.first_seen(f"{key} {day}")
                dated = start._replace(due=day, at=day, repeat=rule, rolls=bool(rule), lapses=True)
                yield Wish(dated, source, rule, days=0, not_on=seen)


def _pairs(dues: list[str], reminds: list[str]) -> list[tuple[str, str]]:
    """By when, and when to remind. One of each belong together; of more nobody knows."""
    if len(dues) == 1 and len(reminds) == 1:
        return [(dues[0], reminds[0])]
    return [(each, each) for each in dict.fromkeys([*dues, *reminds])]


def _moments(place: Place, value: Value) -> Iterator[str]:
    for each in (value if isinstance(value, list) else [value])[:_MOST]:
        if isinstance(each, str) and (found := _moment(place, each.strip())):
            yield found


def _moment(place: Place, text: str) -> str:
    link = _LINK.fullmatch(text)
    text = (link[1] if link else text).strip()
    if len(text) > _LONGEST:
        return ""
    plain = _ISO.fullmatch(text)
    if plain:
        return _iso_moment(plain, place.written.zone)
    found = place.written.moment(text, lambda since: next(iter(find(text, since)), None))
    return iso(found) if found else ""


def _iso_moment(found: re.Match[str], zone: tzinfo | None) -> str:
    day, clock, offset = found.groups()
    try:
        if not clock:
            return datetime.fromisoformat(day).strftime("%Y-%m-%d") if day >= "1000" else ""
        moment = datetime.fromisoformat(f"{day}T{clock:0>5}{offset or ''}")
        local = moment.astimezone(zone) if offset else moment
    except (ValueError, OverflowError):
        return ""
    return f"{local:%Y-%m-%dT%H:%M}" if local.year >= 1000 else ""


def _is_closed(folded: Mapping[str, Value]) -> bool:
    status = folded.get("status")
    states = status if isinstance(status, list) else [status]
    if any(isinstance(each, str) and each.strip().lower() in _CLOSED for each in states):
        return True
    return any(folded.get(key) not in (None, False, "", "false") for key in ("done", "completed"))


def _written_days(path: str, folded: Mapping[str, Value]) -> set[str]:
    """The days that tell when a note was written, not what it is about."""
    values = [folded.get(key) for key in _WRITTEN_KEYS]
    days = {each[:10] for each in values if isinstance(each, str)}
    named = re.findall(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)", path.rpartition("/")[2])
    return days | {"-".join(parts) for parts in named}


def _words(repeat: Value) -> str:
    return repeat if isinstance(repeat, str) else ""
