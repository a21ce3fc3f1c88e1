"""The page Memory.md, which lists memories by category, the newest first; and, once, the views that an editor has for
them. For people to leaf through: programs ask for lists."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence

from vaultmem.errors import VaultmemError
from vaultmem.memories import generated, records_upkeep, transcript
from vaultmem.memories.access import is_private
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.item_answers import author_of
from vaultmem.memories.model import CATEGORIES, GENERATED, INBOX, Memory
from vaultmem.memories.reports import Report
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import stamp
from vaultmem.text.values import plural
from vaultmem.vault import write
from vaultmem.vault.places import file_name

NAME = GENERATED[4]
MOST = 100  # memories of a category
_NAME = 40  # characters of that of an assistant
_NOT_IN_VIEWS = frozenset("\"'\\{}\n")  # in the name of a folder: views are YAML with quoted words
_ABOUT = "vaultmem writes this page; changes made here are lost."
log = logging.getLogger("vaultmem.memories")


def render(memories: Iterable[Memory], style: str) -> str:
    """The page. The same memories give the same bytes on any machine. What is private is only counted, for assistants
    read the page, too."""
    every = [one for one in memories if one.adopted and not one.properties.get("compressed")]
    listed = [one for one in every if not is_private(one.properties)]
    by_category: dict[str, list[Memory]] = defaultdict(list)
    for one in sorted(listed, key=lambda each: (-each.created, each.title)):
        by_category[one.category].append(one)
    hidden = len(every) - len(listed)
    private = f"; {hidden:,} more {'is' if hidden == 1 else 'are'} private" if hidden else ""
    first = f"{plural(len(listed), 'memory', 'memories')}{private}. {_ABOUT}"
    sections = [(name, by_category[name]) for name in CATEGORIES if by_category[name]]
    if style == generated.OUTLINE:
        blocks = [f"- {first}\n"]
        for name, some in sections:
            lines = "".join(f"\t- {line}\n" for line in _lines(name, some))
            blocks.append(f"- ## {_heading(name)}\n{lines}")
        return generated.head(style) + "".join(blocks)
    parts = [f"# Memory\n\n{first}\n"]
    for name, some in sections:
        lines = "".join(f"- {line}\n" for line in _lines(name, some))
        parts.append(f"## {_heading(name)}\n\n{lines}")
    return generated.head(style) + "\n".join(parts)


def _heading(category: str) -> str:
    return "Inbox, not filed yet" if category == INBOX else category.capitalize()


def _lines(category: str, memories: Sequence[Memory]) -> list[str]:
    lines = []
    for one in memories[:MOST]:
        author = one_line(author_of(one.properties), _NAME)
        by = f", by {author}" if author else ""
        lines.append(f"[[{one.title}]] ({stamp(one.created)[:10]}{by})")
    if len(memories) > MOST:
        lines.append(f"{len(memories) - MOST:,} older: `vaultmem list --category {category}`")
    return lines


def refresh(session: Session, _: Arguments) -> Report:
    """Bring the page up to date, if memories have changed; whether that was needed."""
    return {"written": keep(session)}


def keep(session: Session) -> bool:
    """Write the page, if it is wanted and says something new; whether it was written."""
    desk = session.desk
    if desk.config.text("memories.pages") == "off" or desk.listed == desk.version:
        return False
    _clear_empty_folders(desk)
    _keep_transcripts(session)
    path = f"{desk.folder}/{NAME}"
    live = desk.collection.live()
    is_first = not os.path.lexists(f"{desk.vault}/{path}")
    if generated.is_taken(desk, path) or (is_first and (not live or _is_name_taken(session, path))):
        return False
    generated.clear_copies(desk, path)
    try:
        if is_first:
            _write_views(session)
        written = generated.keep(desk, path, render(live, desk.rules.page_style(path)))
    except (VaultmemError, OSError) as error:  # the page only lists what there is
        log.warning("%s", error)
        return False
    desk.listed = desk.version
    return written


def _keep_transcripts(session: Session) -> None:
    try:
        transcript.keep(session, but=records_upkeep.take_in(session))
    except (VaultmemError, OSError) as error:  # the entries have all that was said
        log.warning("%s", error)


def _is_name_taken(session: Session, path: str) -> bool:
    """Whether a note of a person is called so: a link to it shall not become ambiguous."""
    return session.view.target(file_name(path)) is not None


def _write_views(session: Session) -> None:
    """Write the views that the editor has for memories, which are the person's from then on. That the page is there
    says, on all machines, that this was done."""
    desk = session.desk
    if _NOT_IN_VIEWS & set(desk.folder):
        return
    for name, text in desk.rules.views(f"{desk.folder}/{NAME}").items():
        path, days = f"{desk.folder}/{name}", desk.half_life / 24
        is_note = name.endswith(".md")
        if os.path.lexists(f"{desk.vault}/{path}") or (is_note and _is_name_taken(session, path)):
            continue
        filled = text.replace("{folder}", desk.folder).replace("{days}", f"{days:g}")
        write.create(desk.vault, path, filled.encode())


def _clear_empty_folders(desk: MemoryStore) -> None:
    """Take away folders of categories with nothing in them; the inbox stays, for a person may drop notes there."""
    for name in CATEGORIES:
        if name != INBOX:
            try:
                os.rmdir(f"{desk.vault}/{desk.folder}/{name}")
            except OSError:
                continue  # there is something in it, or it is not there
