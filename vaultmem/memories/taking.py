"""Take in what was found in another program: what is new becomes memories in the inbox, once and for all.

A memory keeps where it comes from (`source`, `source_path`) and the hash of the text that it was made of
(`source_hash`): edited, filed or deleted, it does not come in again. The path is what the source says; nothing is read
here but what was handed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.core import likeness, secrets
from vaultmem.core.blocks import MAX_TOKENS, count_tokens
from vaultmem.core.keys import KEYS, key_of
from vaultmem.core.memory import Memory
from vaultmem.errors import UsageError
from vaultmem.memories import ingesting
from vaultmem.memories.asked import Asked
from vaultmem.memories.desk import Session
from vaultmem.memories.ingesting import Part
from vaultmem.memories.reports import Report, header
from vaultmem.store.taken import take, taken

HASH = "source_hash"
_HASH_LENGTH = 16  # hex digits: enough among all texts of a person's life
_MOST_TAGS, _MOST_KEYS, _LONGEST, _MOST_LISTED = 50, 30, 200, 50
_ABOUT = frozenset("source project type tags by".split())
_TAG = re.compile(r"[^\s,#\[\]\"'\x00-\x1f\x7f]+")
_KEY = re.compile(r"[^\W\d][\w -]{0,49}")
_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_NOT_TAKEN = frozenset(  # said elsewhere, or read by vaultmem in its own way
    (
        "title",
        "name",
        "tag",
        "alias",
        "cssclass",
        "cssclasses",
        "answered",
        "content_hash",
        "confidence",
    )
)


class _Item(NamedTuple):
    """One text as it was handed over."""

    path: str
    text: str
    title: str
    about: Asked
    properties: dict[str, Value]  # without tags


class _Result(NamedTuple):
    """What became of an item."""

    parts: list[Part]
    hashes: list[str]  # to be known from now on
    redacted: tuple[str, ...] = ()


class _Seen:
    """What need not come in: what memories say or were made of, alive or archived, and what was looked at before."""

    def __init__(self, session: Session) -> None:
        collection = session.desk.collection
        self._memories: dict[str, Memory] = {}
        for memory in (*collection.archived(), *collection.live()):
            self._memories[memory.hash[:_HASH_LENGTH]] = memory
            if made_of := memory.text(HASH):
                self._memories[made_of] = memory
        self._taken = taken(session.desk.ledger)
        self._now: set[str] = set()

    def part(self, text: str) -> Part | None:
        """What a text is known for, if it is."""
        hash_ = hash_of(text)
        memory = self._memories.get(hash_)
        if memory is not None:
            reason = "it is in the archive" if memory.archived else ""
            return Part(text, known=memory.id, reason=reason)
        if hash_ in self._now:
            return Part(text, reason="it came in with another text just now", seen=True)
        if hash_ in self._taken:
            return Part(text, reason="it was looked at before", seen=True)
        return None

    def add(self, hash_: str) -> None:
        """It comes in now."""
        self._now.add(hash_)


def hash_of(text: str) -> str:
    """By what a text is known again."""
    return likeness.content_hash(text)[:_HASH_LENGTH]


def take_in(session: Session, asked: Asked) -> Report:
    """Write what is new of the items of one source; "results" tells of each what became of it, in their order. At most
    `limit` memories are written: an item that would be one too many waits, and all behind it."""
    items = [_item(asked, given) for given in asked.records("items")]
    most = int(asked.number("limit", 1_000_000, 1, 1_000_000))
    seen = _Seen(session)
    draft = session.draft()
    results: list[_Result] = []
    count = 0
    for item in items:
        result = _judged(session, item, seen)
        fresh = [part for part in result.parts if part.new is not None]
        if count and count + len(fresh) > most:
            break
        count += len(fresh)
        results.append(result)
        for part in fresh:
            assert part.new is not None
            ingesting.create(draft, part.new, part.text, session.now)
            seen.add(str(part.new.properties[HASH]))
        if count >= most:
            break
    plan = draft.plan("ingest")
    failed: dict[str, str] = {}
    if not asked.flag("dry_run"):
        why = f"ingest from {asked.needed('source')}: {len(plan.changes)} memories"
        failed = dict(session.carry_out(plan, header(asked, why, session.now)).skipped)
        ids = {change.id for change in plan.changes if change.target in failed}
        whole = [one for one in results if not any(p.new and p.new.id in ids for p in one.parts)]
        take(session.desk.ledger, {each for one in whole for each in one.hashes}, session.now)
    places = {change.id: change.target for change in plan.changes}
    told = [_told(result, places, failed) for result in results]
    return {"results": told, "left": len(items) - len(results)}


def _judged(session: Session, item: _Item, seen: _Seen) -> _Result:
    found = secrets.redacted(item.text)
    text = likeness.normal(found.text)
    if not text.strip():
        return _Result([Part("", reason="there is nothing in it")], [])
    known = seen.part(text)
    if known is not None:
        return _Result([known], [hash_of(text)])
    if count_tokens(text) <= MAX_TOKENS:
        parts = [ingesting.whole(session, item.about, text)]
    else:
        parts = ingesting.judged(session, item.about, text, seen.part)
    begins = (
        None if any(map(_is_known, parts)) else next((each for each in parts if each.new), None)
    )
    placed = [_placed(part, item, first=part is begins) for part in parts]
    return _Result(placed, [hash_of(text), *(hash_of(part.text) for part in parts)], found.kinds)


def _is_known(part: Part) -> bool:
    return bool(part.known) or part.seen


def _placed(part: Part, item: _Item, *, first: bool) -> Part:
    """A new memory with where it comes from. What names the whole text is said of its first part."""
    if part.new is None:
        return part
    named = {} if first else {"aliases": None, "links": None}
    given = {**item.properties, **named, **part.new.properties, HASH: hash_of(part.text)}
    properties = {key: value for key, value in given.items() if value not in (None, [])}
    title = item.title if first else ""
    return part._replace(new=part.new._replace(title=title, properties=properties))


def _told(
    result: _Result, places: Mapping[str, str], failed: Mapping[str, str]
) -> dict[str, object]:
    """An item as JSON: "new" if any of its parts is, "known" if all that matters of it is."""
    written = [part.new.id for part in result.parts if part.new is not None]
    lost = [failed[places[id_]] for id_ in written if places[id_] in failed]
    memories = [{"id": id_, "path": places[id_]} for id_ in written if places[id_] not in failed]
    known = any(map(_is_known, result.parts))
    reasons = Counter(part.reason for part in result.parts if part.reason)
    outcome = "new" if memories else "known" if known and not lost else "skipped"
    reason = "; ".join([*lost, *(f"{n} × {why}" if n > 1 else why for why, n in reasons.items())])
    return {
        "result": outcome, "memories": memories, "known": [one.known for one in result.parts if one.known],
        "reason": reason, "redacted": list(result.redacted) if memories else [],
    }  # fmt: skip


# --- What was handed over


def _item(asked: Asked, given: Mapping[str, object]) -> _Item:
    text = given.get("text")
    if not isinstance(text, str):
        raise UsageError('each of "items" must have a "text"')
    held = given.get("properties")
    properties = _plain(held) if isinstance(held, dict) else {}
    about = {
        "source": asked.needed("source"), "tags": _tags(given.get("tags")), "by": asked.text("by") or None,
        "project": _line(properties.pop("project", "")), "type": _line(properties.pop("type", "")),
    }  # fmt: skip
    path = _line(given.get("path"), 1_000)
    aliases: list[Value] = [*_lines(given.get("aliases"))]
    links: list[Value] = [f"[[{each}]]" for each in _lines(given.get("links")) if "]]" not in each]
    properties |= {"aliases": aliases, "source_path": path, "links": links}
    title = _line(given.get("title"))
    return _Item(path, text, title, Asked(about, _ABOUT), properties)


def _plain(given: Mapping[str, object]) -> dict[str, Value]:
    """Properties of another program's note that say nothing to vaultmem but may to the person; `private` and `url` are
    among them. What vaultmem writes itself nobody else may set."""
    found: dict[str, Value] = {}
    for key, value in given.items():
        own = key_of(key)
        if own in ("project", "type") and isinstance(value, str):
            found[own] = value
        elif own not in KEYS and own.lower() not in _NOT_TAKEN and _KEY.fullmatch(key):
            plain = _value(key, value)
            if plain is not None and len(found) < _MOST_KEYS:
                found[key] = plain
    return found


def _value(key: str, given: object) -> Value:
    """A value that is one line, a number, true or false, or a list of lines; None for what is not. A secret is looked
    for behind the name of the property."""
    if isinstance(given, (bool, int, float)):
        return given
    if isinstance(given, str):
        line = _line(given, 1_000)
        kept = secrets.redacted(f"{key}: {line}")
        return kept.text.partition(": ")[2] if kept.kinds else line or None
    if isinstance(given, list):
        return [*_lines(given)] or None
    return None


def _tags(given: object) -> list[str]:
    """Those that can be tags."""
    dashed = (each.replace(" ", "-") for each in _lines(given))  # a mark of a secret is no tag
    return [tag for tag in dashed if _TAG.fullmatch(tag) and not tag.isdigit()][:_MOST_TAGS]


def _lines(given: object) -> list[str]:
    listed = given if isinstance(given, (list, tuple)) else []
    found = (_line(each) for each in listed if isinstance(each, (str, int)))
    return [*dict.fromkeys(each for each in found if each)][:_MOST_LISTED]


def _line(given: object, most: int = _LONGEST) -> str:
    """A short text of one line, without secrets: they are looked for before it is cut."""
    line = _ONE_LINE.sub(" ", str(given or "")).strip()
    return secrets.redacted(line[: 4 * most]).text[:most]
