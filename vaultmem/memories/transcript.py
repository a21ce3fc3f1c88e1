"""A conversation as one page for people: the summary on top, what was learned, then who said what.

It is made of the entries, which stay what counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from vaultmem.adapter import Value
from vaultmem.memories import generated
from vaultmem.memories.access import is_private
from vaultmem.memories.conversation import ASSISTANT, FINAL, MEMORY, SUMMARY, USER, Entry
from vaultmem.memories.entries import Talk
from vaultmem.memories.store import Session
from vaultmem.memories.summaries import is_outdated
from vaultmem.text.sanitize import quote_text
from vaultmem.vault import pages
from vaultmem.vault.places import CHAT, ENTRIES

MOST = 1_000  # turns on a page, the newest
MOST_CHARACTERS = 1_000_000
PRIVATE = "(private)"
_NAMES = {USER: "You", ASSISTANT: "Assistant"}
_NO_NAME = re.compile(r"[0-9a-f]{8}[0-9a-f-]{8,}")  # an id that says nothing to a person
_SHORT = 8  # characters of such an id
_ABOUT = "Made of the notes in `turns`, `facts` and `summaries`; changes made here are lost."


def keep(session: Session) -> int:
    """Write the pages of conversations that say something new; how many."""
    desk = session.desk
    place = f"{desk.folder}/{ENTRIES}"
    titles = {one.id: one.title for one in desk.collection.live()}
    texts = {}
    for talk in desk.talks.talks():
        if talk.entries:
            path = f"{place}/{talk.folder}/{_name(talk)}"
            body = render(talk.entries, titles)
            sets: dict[str, Value] = {"generated": generated.BY, "TP_ignore_this_file": True}
            texts[path] = pages.compose(desk.rules.page_style(path), sets, body).decode()
    return generated.keep_all(desk, texts)


def _name(talk: Talk) -> str:
    """The same as long as there is anything of it, and without words that may be taken back."""
    day = _day(min(one.created for one in talk.entries))
    name = talk.folder[:_SHORT] if _NO_NAME.fullmatch(talk.folder) else talk.folder
    return f"{CHAT} {day:%Y-%m-%d} {name}.md"


def _day(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)  # the same on every machine


def render(entries: Sequence[Entry], titles: Mapping[str, str]) -> str:
    """The text of the page; `titles` are those of memories by their ids. What was put away is not told, and of what is
    private only that it is there."""
    first = _day(min(one.created for one in entries))
    parts = [f"# Conversation of {first.day} {first:%B %Y}", _ABOUT, *_summary(entries)]
    learned = [*_learned_links(entries, titles)]
    if learned:
        parts += ["## Learned", "\n".join(f"- {line}" for line in learned)]
    return "\n\n".join([*parts, *_turns(entries)]) + "\n"


def _summary(entries: Sequence[Entry]) -> Iterator[str]:
    for one in entries:
        is_final = one.role == SUMMARY and one.path.endswith(f"/{FINAL}.md") and not one.deleted
        if is_final and not is_private(one.properties) and not is_outdated(one, entries):
            yield _quote(one.content)


def _learned_links(entries: Sequence[Entry], titles: Mapping[str, str]) -> Iterator[str]:
    """The facts that hold, and links to the memories that others have become."""
    for one in entries:
        if one.role != MEMORY or one.properties.get("compression_source") is True:
            continue
        title = titles.get(str(one.properties.get("replaced_by") or ""))
        if title and one.deleted:
            yield f"[[{title}]]"
        elif not one.deleted:
            yield (
                PRIVATE if is_private(one.properties) else quote_text(one.content, len(one.content))
            )


def _turns(entries: Sequence[Entry]) -> list[str]:
    """Who said what, by days; the newest, where a page cannot hold all."""
    turns = [one for one in entries if one.role in _NAMES and not one.deleted]
    room, shown = MOST_CHARACTERS, list[Entry]()
    for one in reversed(turns[-MOST:]):
        room -= len(one.content)
        if room < 0:
            break
        shown.insert(0, one)
    parts = []
    if len(shown) < len(turns):
        parts.append(f"{len(turns) - len(shown):,} earlier turns are in `turns` alone.")
    before = ""
    for one in shown:
        at = _day(one.created)
        day = f"{at.day} {at:%B %Y}"
        parts += [f"## {day}"] if day != before else []
        before = day
        words = PRIVATE if is_private(one.properties) else one.content
        parts += [f"**{_NAMES[one.role]}**", _quote(words)]
    return parts or ["Nothing is left of what was said."]


def _quote(text: str) -> str:
    """Its own headings, tasks and rules stay inside."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))
