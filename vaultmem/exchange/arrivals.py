"""What comes in becomes a file of this vault: its bytes, its id and its place, checked by reading it again."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.errors import VaultmemError
from vaultmem.exchange.lines import Exchanged, checked_content, in_archive
from vaultmem.memories.desk import Session
from vaultmem.memories.model import ARCHIVE, CATEGORIES, DEFAULT_SCOPE, INBOX, category_of
from vaultmem.reminders.pending_items import is_approved
from vaultmem.text.similarity import content_hash
from vaultmem.text.times import seconds, stamp
from vaultmem.text.titles import safe, title_of
from vaultmem.vault import pages
from vaultmem.vault.files import CAP, decode


class Arrival(NamedTuple):
    """A memory that is to be written."""

    id: str
    path: str  # in the memory folder, perhaps taken
    archived: bool
    data: bytes
    style: str
    hash: str
    scope: str
    updated: float
    properties: Mapping[str, Value]
    is_foreign: bool  # of another program, which knows nothing of places


def arrival(session: Session, given: Exchanged, by: str) -> Arrival:
    """The file that a memory will be. Brought by an assistant, it is that assistant's where it names no other one.
    Raises VaultmemError when it cannot be one."""
    # What was in a file of a vault goes back into one, byte by byte, whatever it is.
    content = given.content if given.file is not None else checked_content(given.content)
    own = given.id or _text(given.properties.get("id")) or session.desk.new_id()
    path = unicodedata.normalize("NFC", _place(given, content))
    if f"{session.desk.folder}/{path}".casefold() == session.desk.waiting.path.casefold():
        raise VaultmemError(f"its path {path[:60]!r} is that of the page of what waits")
    style = session.desk.rules.page_style(f"{session.desk.folder}/{path}")
    data = _bytes(session, given._replace(id=own), style)
    page = _read(style, data)
    _refuse_other(session, page, own, by)
    if by and not _text(page.properties.get("agent")):
        data = pages.edited(style, data, {"agent": by}, None)
        page = _read(style, data)
    scope = _text(page.properties.get("scope")) or DEFAULT_SCOPE
    updated = seconds(page.properties.get("updated_at")) or seconds(page.properties.get("created_at"))  # fmt: skip
    return Arrival(
        own, path, given.archived, data, style, content_hash(page.content), scope, updated or 0.0, page.properties,
        not given.path,
    )  # fmt: skip


def _refuse_other(session: Session, page: pages.Page, own: str, by: str) -> None:
    """A file may claim the id of another one, as copies do, but not to live by what a person has approved of that."""
    claimed = _text(page.properties.get("id"))
    if claimed in ("", own):
        return
    if by or is_approved(claimed, session.desk.waiting.record.answers()):
        raise VaultmemError("its file has another id than its line")


def renamed(session: Session, new: Arrival) -> Arrival:
    """The same with an id of its own."""
    own = session.desk.new_id()
    return new._replace(id=own, data=pages.edited(new.style, new.data, {"id": own}, None))


def _bytes(session: Session, given: Exchanged, style: str) -> bytes:
    """As they were, where pages are written alike; else made of properties and content."""
    if given.file is not None and given.file.style == style:
        return given.file.data
    properties: dict[str, Value] = dict(given.properties)
    if not given.path:  # of another program
        now = stamp(session.now)
        properties = {"id": given.id, **properties}
        properties |= {key: now for key in ("created_at", "updated_at") if key not in properties}
        if given.links:
            properties["links"] = [f"[[{safe(own)}]]" for own in given.links]  # until all are there
    return pages.compose(style, properties, given.content)


def _read(style: str, data: bytes) -> pages.Page:
    """The file as it will be read. A file that cannot be read would be lost to everybody."""
    if len(data) > CAP:
        raise VaultmemError(f"it has {len(data):,} bytes, and a memory at most {CAP:,}")
    text, trouble = decode(data)
    page = pages.read(style, text)
    if trouble or page.error:
        raise VaultmemError(f"its file could not be read: {trouble or page.error}")
    return page


def _place(given: Exchanged, content: str) -> str:
    """Where it lies in the memory folder: where it lay, as far as that goes with being archived."""
    name = given.path.rpartition("/")[2] if given.path else f"{safe(title_of(content))}.md"
    if given.archived:
        return given.path if in_archive(given.path) else f"{ARCHIVE}/{name}"
    category = category_of("", given.properties.get("category"))
    if not given.path or in_archive(given.path):
        return f"{category}/{name}"
    top = given.path.partition("/")[0] if "/" in given.path else ""
    if top not in CATEGORIES and not given.properties.get("id"):
        return f"{INBOX}/{name}"  # elsewhere, a file without an id is no memory
    return given.path


def _text(given: Value) -> str:
    return given.strip() if isinstance(given, str) else ""
