"""Candidates of a recall: what a search finds, as memories read from their files now, or as blocks of notes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, cast

from vaultmem.adapter import Value
from vaultmem.index.catalog_read import BlockPlace
from vaultmem.memories import decay, model
from vaultmem.memories.conversation import (
    ASSISTANT,
    MEMORY,
    USER,
    entry_of,
    is_away,
    is_talk,
    scope_of,
)
from vaultmem.memories.memory_file import provisional
from vaultmem.memories.model import TYPES, is_private, says_private
from vaultmem.memories.supersede import stems
from vaultmem.reminders import due_notes, learned
from vaultmem.reminders.answers import Answer
from vaultmem.reminders.learned import Learned
from vaultmem.reminders.pending_items import is_approved
from vaultmem.search import recall_filters
from vaultmem.search.last_tier import LEAST_SHARED, newest
from vaultmem.search.recall_candidate import Candidate, Wanted
from vaultmem.search.recall_filters import LEAST_IMPORTANCE, NEAR
from vaultmem.search.recall_text import plain
from vaultmem.search.search import Ask, Found, Searcher
from vaultmem.search.snippet import NoteTexts, cut_lines, spelled
from vaultmem.text.times import seconds
from vaultmem.vault import pages
from vaultmem.vault.places import (
    ARCHIVE,
    ARCHIVED_NOTES,
    CATEGORIES,
    ENTRIES,
    GENERATED,
    category_of,
    key_of,
    named,
)

MOST_PAGES = 2_000  # remembered
AROUND = 4  # lines on either side of a turn: two other turns
MOST_ANSWERS = 8  # of the catalog, remembered
_TALK = ("session_id", "conversation_id", "role")


class Look(NamedTuple):
    """One recall: where it looks, and what it knows."""

    searcher: Searcher
    semantic: bool
    answers: Callable[[], Mapping[str, Answer]]
    now: float
    remarks: list[str]
    viewer: model.Viewer = model.PERSON
    trust: str = model.CONNECTED  # the setting recall.trust


class _Read(NamedTuple):
    """A memory as its file says it."""

    candidate: Candidate
    aging: decay.Aging
    sessions: frozenset[str]  # the conversations it comes from
    replaced: bool
    expires: float | None  # when it ends by its own word


class Sources:
    """Reads candidates of one vault. Any thread may ask."""

    def __init__(self, vault: str, folder: str, style: Callable[[str], str]) -> None:
        self.vault, self.folder = vault, folder
        self._style = style
        self._texts = NoteTexts(vault)
        self._pages: dict[str, tuple[str, _Read | None]] = {}
        self._known: dict[object, object] = {}
        self._lock = threading.Lock()

    def found(
        self, look: Look, wanted: Wanted, most: int, more: Iterable[Learned] = ()
    ) -> list[Candidate]:
        """The best of what a search finds, and of a memory its best block; `more` facts of conversations are looked
        into."""
        answer = look.searcher.find(self._ask(look, wanted, most, more))
        look.remarks.extend(one for one in answer.remarks if one not in look.remarks)
        hits = [one for one in answer.found if one.place.original is None and one.score > 0]
        ours = {hit.place.path for hit in hits if self._is_ours(hit.place)}
        texts = self._texts_of(hit.place.raw or hit.place.path for hit in hits)
        found: dict[str, Candidate] = {}
        for hit in hits:
            path = hit.place.path
            text = texts[hit.place.raw or path]
            one = (
                self._memory_now(look, path, text)
                if path in ours
                else self._block(look, hit.place, text)
            )
            if one is not None and one.key not in found:
                is_near = hit.similarity is not None and hit.similarity >= NEAR
                shares = is_near or self._shares(look, answer.words, hit.place, text)
                found[one.key] = _scored(one, hit, path in ours)._replace(shares=shares)
        return list(found.values())[:most]

    def _shares(self, look: Look, words: frozenset[str], place: BlockPlace, text: str) -> bool:
        """Whether a block has one of these words in any form, or what stands above it, or, of a turn, what is said just
        before or after."""
        tokens = look.searcher.keyword.tokens
        above = " ".join((place.title, *place.headings, place.label or ""))
        around = AROUND if place.label else 0
        said = cut_lines(text, place.line - around, place.end_line + around)
        return not words.isdisjoint(tokens(said)) or not words.isdisjoint(tokens(above))

    def archived(self, look: Look, wanted: Wanted) -> list[Candidate]:
        """Memories of the archive that share most words with the question, best first. They are in no index."""
        asked = stems(wanted.query)
        if not asked:
            return []
        paths = newest(look.searcher)
        texts = self._texts_of(paths)
        found: list[Candidate] = []
        for path in paths:
            one = self._memory_now(look, path, texts[path])
            shared = 0.0 if one is None else len(asked & stems(one.content)) / len(asked)
            if one is not None and shared >= LEAST_SHARED:
                found.append(one.scored(shared, shared=shared))
        return sorted(found, key=lambda one: (-one.score, -one.created, one.path))

    def hashes(self, look: Look, candidates: Iterable[Candidate]) -> dict[str, bytes]:
        """The hashes of the blocks that were found, by the keys of the candidates."""
        places = {one.key: (one.path, one.block) for one in candidates}
        found = recall_filters.hashes(look.searcher.catalog, places.values())
        return {key: found[place] for key, place in places.items() if place in found}

    def unremembered(self, look: Look, wanted: Wanted) -> list[Learned]:
        """What conversations learned about the person, who has not answered whether to remember it, and what is not
        looked into anyway. A conversation hears nothing of others."""
        catalog = look.searcher.catalog
        if is_talk(wanted.by):
            return []
        facts = self._remembered(
            (catalog.version(), "learned"),
            lambda: learned.learned(catalog, self.vault, self.folder),
        )
        assert isinstance(facts, list)
        waiting = learned.undecided(facts, look.answers()) if facts else []
        return [one for one in waiting if not wanted.looks_into(scope_of(one.conversation))]

    def proposed(self, look: Look, facts: Iterable[Candidate]) -> set[str]:
        """The paths of those facts that no memory says yet."""
        paths = {one.path for one in facts}
        if not paths:
            return paths
        catalog, answers = look.searcher.catalog, look.answers()
        found = learned.proposed(catalog, self.vault, self.folder, answers, paths)
        return {one.path for one in found}

    def _ask(self, look: Look, wanted: Wanted, most: int, more: Iterable[Learned]) -> Ask:
        catalog = look.searcher.catalog
        least = LEAST_IMPORTANCE if wanted.has("filters") else 0.0
        read = recall_filters.hidden if wanted.notes else recall_filters.memories
        notes = self._remembered(
            (catalog.version(), read.__name__, wanted.by, wanted.scopes, least),
            lambda: read(catalog, self.folder, wanted.looks_into, least),
        )
        assert isinstance(notes, frozenset)
        added = frozenset(one.note for one in more)
        notes = (notes - added if wanted.notes else notes | added) if added else notes
        sure = wanted.min_confidence if wanted.has("filters") else 0.0
        group = "block" if wanted.notes else "note"
        return Ask(
            plain(wanted.query), most, look.semantic, group, (), sure, notes, all_but=wanted.notes
        )

    def _remembered(self, key: object, make: Callable[[], object]) -> object:
        with self._lock:
            if key in self._known:
                return self._known[key]
        made = make()
        with self._lock:
            while len(self._known) >= MOST_ANSWERS:
                del self._known[next(iter(self._known))]
            self._known[key] = made
        return made

    # --- Memories

    def _is_ours(self, place: BlockPlace) -> bool:
        """Whether it is a memory, by what the index knows."""
        if not self._may_be_memory(place.path):
            return False
        top = place.path[len(self.folder) + 1 :].partition("/")[0]
        if top == ENTRIES:  # what is no entry there, is nothing that can be told
            return True
        own = _values(place)
        return top in CATEGORIES or bool(due_notes.memory_id(place.path, own, self.folder))

    def _may_be_memory(self, path: str) -> bool:
        inner = path[len(self.folder) + 1 :] if path.startswith(self.folder + "/") else ""
        return (
            bool(inner)
            and inner not in GENERATED
            and not inner.startswith(f"{ARCHIVED_NOTES}/")
            and not is_away(inner)
        )

    def _texts_of(self, paths: Iterable[str]) -> dict[str, str]:
        """What these files say now; "" for what is gone or cannot be read."""
        with self._lock:
            return self._texts.read(paths)

    def _memory_now(self, look: Look, path: str, text: str) -> Candidate | None:
        """A memory as its file is now; None where there is none any more."""
        if not text:
            return None
        with self._lock:
            read = self._read(path, text)
        return None if read is None else self._now(look, read)

    def _read(self, path: str, text: str) -> _Read | None:
        known = self._pages.get(path)
        if known is None or known[0] != text:
            while len(self._pages) >= MOST_PAGES:
                del self._pages[next(iter(self._pages))]
            page = pages.read(self._style(path), text)
            known = self._pages[path] = text, None if page.error else self._memory(path, text, page)
        return known[1]

    def _memory(self, path: str, text: str, page: pages.Page) -> _Read | None:
        own, inner = page.properties, path[len(self.folder) + 1 :]
        category = category_of(inner, own.get("category"))
        given = str(own.get("id") or provisional(path))
        content = page.content.strip("\n")
        line = _line_of(text, content)
        created = seconds(own.get("created_at"))
        weight = own.get("importance")
        origin = model.origin(own)
        one = Candidate(
            path, line, line + content.count("\n"), content,
            id=given,
            title=path.rpartition("/")[2].removesuffix(".md"),
            memory_type=_type_of(own, category),
            category=category,
            scope=model.scope_of(own, memory=True),
            created=self._mtime(path) if created is None else created,
            importance=float(weight) if isinstance(weight, (int, float)) else None,
            compressed=own.get("compressed") is True,
            archived=inner.startswith(f"{ARCHIVE}/"),
            until=seconds(own.get("until")) if own.get("replaced_by") else None,
            forgotten=own.get("by") in decay.FORGETTING and not own.get("replaced_by"),
            private=is_private(own),
            vouched=origin == model.Origin(),
            writer=origin.writer,
            outside=origin.outside,
            stored_reads=_reads_of(own),
        )  # fmt: skip
        sessions = frozenset(str(value) for key, value in own.items() if _is_session(key))
        aging, ends = decay.aging(own), seconds(own.get("expires_at"))
        read = _Read(one, aging, sessions, bool(own.get("replaced_by")), ends)
        return _entry(read, inner, own) if inner.startswith(f"{ENTRIES}/") else read

    def _now(self, look: Look, read: _Read) -> Candidate:
        """What also depends on the time, on what the person has approved, and on other memories."""
        one = read.candidate
        if read.aging.policy != "stable":
            one = one._replace(confidence=read.aging.confidence(look.now, look.searcher.half_life))
        if read.expires is not None and read.expires <= look.now:
            one = one._replace(expired=True)  # the job that puts it away comes once an hour
        one = _judged(look, one)
        if not one.vouched and is_approved(one.id, look.answers()):
            one = one._replace(trusted=True, vouched=True)
        if one.compressed and read.sessions and not read.replaced:
            one = one._replace(compressed=bool(read.sessions & self._summed(look)))
        return one

    def _summed(self, look: Look) -> frozenset[str]:
        """The conversations that have a summary."""
        catalog = look.searcher.catalog

        def read() -> frozenset[str]:
            rows = recall_filters.summaries(catalog, self.folder)
            return frozenset(
                str(value) for row in rows for key, value in row.items() if _is_session(key)
            )

        found = self._remembered((catalog.version(), "summaries"), read)
        assert isinstance(found, frozenset)
        return found

    # --- Notes

    def _block(self, look: Look, place: BlockPlace, text: str) -> Candidate:
        own = named(_values(place))
        day = seconds(place.day) if place.day else None
        origin = model.origin(own)
        rest = {key: value for key, value in own.items() if key not in ("agent", "source")}
        outside = origin.outside or due_notes.is_foreign(place.path, rest, self.folder)
        content = cut_lines(text, place.line, place.end_line)
        if content.strip() == "---":  # the note has nothing but properties
            content = spelled(place.properties)
        return _judged(look, Candidate(
            place.path, place.line, place.end_line, content,
            title=place.title,
            memory_type="episodic" if place.day else "semantic",
            scope=model.scope_of(own, memory=place.path.startswith(f"{self.folder}/")),
            created=self._mtime(place.path) if day is None else day,
            private=is_private(own) or (not own and says_private(text)),
            vouched=not (outside or origin.writer),
            writer=origin.writer,
            outside=outside,
            note=True,
            turn=bool(place.label),
        ))  # fmt: skip

    def _mtime(self, path: str) -> float:
        try:
            return os.lstat(f"{self.vault}/{path}").st_mtime
        except OSError:
            return 0.0


def _judged(look: Look, one: Candidate) -> Candidate:
    """With whether it may be told as it is, to whoever asks."""
    origin = model.Origin(one.writer, one.outside)
    return one._replace(trusted=model.is_trusted(origin, look.viewer, look.trust))


def _values(place: BlockPlace) -> Mapping[str, Value]:
    """The properties of a note: the catalog has what a dialect read."""
    return cast("Mapping[str, Value]", place.properties)


def _scored(one: Candidate, hit: Found, is_memory: bool) -> Candidate:
    """A candidate with how well it fits."""
    parts = {"search": hit.score}
    if hit.similarity is not None:
        parts["similarity"] = hit.similarity
    sure = hit.confidence if is_memory else 1.0
    return one._replace(confidence=sure, block=hit.place.line, score=hit.score, parts=parts)


def _entry(read: _Read, inner: str, own: Mapping[str, Value]) -> _Read | None:
    """An entry of a conversation. Nobody vouches for it: the conversation is told of it, and the person. None for a
    summary, which is told in its own way, and for what is no entry."""
    conversation, role = entry_of(inner, own)
    if not conversation or role not in (MEMORY, USER, ASSISTANT) or not own.get("id"):
        return None
    kind = read.candidate.memory_type
    if role == MEMORY and own.get("memory_type") is None:
        kind = "semantic"
    scope = scope_of(conversation)
    one = read.candidate._replace(
        scope=scope, writer=scope, role=role, vouched=False, memory_type=kind
    )
    return read._replace(candidate=one)


def _line_of(text: str, content: str) -> int:
    """Where the content begins; in an outline its first line stands behind a bullet."""
    at = text.rfind(content)
    if at < 0:
        at = text.rfind(content.partition("\n")[0])
    return text.count("\n", 0, max(at, 0)) + 1


def _type_of(own: Mapping[str, Value], category: str) -> str:
    given = own.get("memory_type")
    if category == "preferences":  # whatever it was taken for when it was written
        return "procedural"
    if isinstance(given, str) and given in TYPES:
        return given
    return "episodic" if any(own.get(key) for key in _TALK) else "semantic"


def _reads_of(own: Mapping[str, Value]) -> int:
    found = own.get("access_count")
    return max(0, found) if isinstance(found, int) else 0


def _is_session(key: str) -> bool:
    return key_of(key) in ("session_id", "conversation_id", "source_session_id")
