"""Candidates of a recall: search results as memories read from their current files, or as blocks of notes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from vaultmem.adapter import Properties
from vaultmem.index.catalog import NOTES_BELOW, below
from vaultmem.index.keyword import tokenize
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access, model
from vaultmem.memories.access import is_private
from vaultmem.memories.conversation import (
    ASSISTANT,
    MEMORY,
    USER,
    entry_of,
    is_away,
    is_talk,
    scope_of,
)
from vaultmem.memories.item_answers import is_approved, is_text_approved, origin_at, reminds_at
from vaultmem.memories.model import provisional
from vaultmem.notes.places import (
    ARCHIVE,
    ARCHIVED_NOTES,
    CATEGORIES,
    ENTRIES,
    category_of,
    file_name,
    is_our_page,
    with_our_keys,
)
from vaultmem.recall import archive
from vaultmem.recall.criteria import Criteria
from vaultmem.recall.recall_candidate import (
    LEAST_IMPORTANCE,
    NEAR,
    VERY_NEAR,
    Candidate,
    in_pairs,
    reason,
    type_of,
)
from vaultmem.search import cache
from vaultmem.search.query import Ask, Hit, parse, plain
from vaultmem.search.rank import content_words
from vaultmem.search.search import Searcher
from vaultmem.search.snippet import Marker, cut_lines, is_front, readable
from vaultmem.text.times import day_start, seconds
from vaultmem.text.values import lazy, without_editor_lines

if TYPE_CHECKING:
    from vaultmem.memories.item_answers import Answer
    from vaultmem.pending.person_facts import Learned

MOST_PAGES = 2_000  # cached
MOST_REPLACED = 20  # length of a chain of replacements
FOLLOWED = 3  # best answers of which a question about the past finds what they replaced
FEW_WORDS = 24  # characters
_BEHIND = {"template", "conflict copy"}  # these say nothing, or nothing else
AROUND = 4  # lines on either side of a turn: two other turns
_BY_ID = f"SELECT f.path {NOTES_BELOW} AND instr(n.properties, ?)"
_FROM_ELSEWHERE = lazy(r"!\[\[[^\]\n]*\]\]|!\[\]\([^)\n]*\)|^#+ .*$", re.MULTILINE)


class Look(NamedTuple):
    """The context of one recall."""

    searcher: Searcher
    semantic: bool
    answers: Callable[[], Mapping[str, Answer]]
    now: float
    remarks: list[str]
    viewer: access.Viewer = access.PERSON
    trust: str = access.CONNECTED  # the setting recall.trust

    def trusts(self, origin: access.Origin) -> bool:
        """Whether the viewer gets text of this origin without approval."""
        return access.is_trusted(origin, self.viewer, self.trust)


class _Read(NamedTuple):
    candidate: Candidate
    aging: model.Aging
    sessions: frozenset[str]  # the conversations it comes from
    replaced: bool
    expires: float | None  # when it ends, according to its own words


class Sources:
    """Reads candidates of one vault. Thread-safe."""

    def __init__(self, vault: str, folder: str, style: Callable[[str], str]) -> None:
        self.vault, self.folder = vault, folder
        self._style = style
        self._page = lru_cache(MOST_PAGES)(self._parse)

    def search(
        self, look: Look, criteria: Criteria, most: int, more: Iterable[Learned] = ()
    ) -> list[Candidate]:
        """The best search results, with a memory's best block; examines `more` facts of conversations."""
        ask = self._ask(look, criteria, most, more)
        answer = look.searcher.search(ask, texts=False)
        if ask.viewer == look.viewer:  # else they may name words of what is hidden
            look.remarks.extend(remark for remark in answer.remarks if remark not in look.remarks)
        hits = [one for one in answer.results if one.score > 0 and not _BEHIND & one.parts.keys()]
        texts = look.searcher.texts.read(hit.raw or hit.path for hit in hits)
        # "Where does she live?" has one content word, too.
        is_word = len(in_pairs(answer.words, ask.text)) == 1 == len(criteria.query.split())
        forms, near = in_pairs(answer.forms, ask.text), VERY_NEAR if is_word else NEAR
        result: dict[str, Candidate] = {}
        for hit in hits:
            text, is_memory = texts[hit.raw or hit.path], self._is_ours(hit)
            candidate = (
                self._memory(look, hit.path, text) if is_memory else self._block(look, hit, text)
            )
            if candidate is None or candidate.key in result or _is_empty(candidate.content):
                continue
            is_near = (hit.similarity or 0.0) >= near or "words around it" in hit.parts
            scored = _score(candidate, hit, is_memory)
            shares = is_near or ((is_word or scored.is_firm) and _shares(forms, hit, text))
            result[candidate.key] = scored._replace(shares=shares, lacks=is_word and not shares)
        return list(result.values())[:most]

    def archived(
        self, look: Look, criteria: Criteria, best: Sequence[Candidate]
    ) -> list[Candidate]:
        """Memories of the archive, which are not indexed, that share most words with the question, best first, or that
        one of the `best` replaced. The part "lead" is how many more words each shares than the best answer."""
        query = parse(plain(criteria.query))
        if all(look.searcher.keyword.is_weak(word) for word in query.words):
            return []
        question = archive.Question(look.searcher, archive.timeless(query))
        texts = look.searcher.texts.read(archive.newest(look.searcher))
        results: list[Candidate] = []
        least = question.share(best[0].content if best else "")
        newer = {item.id for item in best[:FOLLOWED] if item.id and criteria.past}
        for _, path, text in question.answers(texts, newer):
            if (candidate := self._memory(look, path, text)) is None:
                continue
            shared, is_former = question.share(candidate.content), candidate.successor in newer
            if shared >= archive.LEAST_SHARED or is_former:
                lead = max(0.0, shared - least) if is_former else shared - least
                results.append(candidate.scored(shared, shared=shared, lead=lead))
        return sorted(results, key=lambda one: (-one.score, -one.created, one.path))

    def successor(self, look: Look, replaced: Candidate) -> Candidate | None:
        """The living memory that finally replaced another; None if there is none."""
        candidate: Candidate | None = replaced
        for _ in range(MOST_REPLACED):
            candidate = (
                self._with_id(look, candidate.successor)
                if candidate and candidate.successor
                else None
            )
            if candidate is None or not candidate.archived:
                return candidate
        return None

    def allowed(self, look: Look, criteria: Criteria, paths: Iterable[str]) -> list[Candidate]:
        """The memories with these paths that may be recalled."""
        there = (self._memory(look, *item) for item in look.searcher.texts.read(paths).items())
        return [item for item in there if item and not reason(item, criteria)]

    def _with_id(self, look: Look, id_: str) -> Candidate | None:
        rows = look.searcher.catalog.db.execute(_BY_ID, (*below(self.folder), id_)).fetchall()
        for paths in ([path for (path,) in rows], archive.newest(look.searcher)):
            for path, text in look.searcher.texts.read(paths).items():
                candidate = self._memory(look, path, text) if id_ in text else None
                if candidate is not None and candidate.id == id_:
                    return candidate
        return None

    def hashes(self, look: Look, candidates: Iterable[Candidate]) -> dict[str, bytes]:
        """The hashes of the matching blocks, by candidate key."""
        places = {candidate.key: (candidate.path, candidate.block) for candidate in candidates}
        digests = cache.block_hashes(look.searcher.catalog, places.values())
        return {key: digests[place] for key, place in places.items() if place in digests}

    def unremembered(self, look: Look, criteria: Criteria) -> list[Learned]:
        """Facts that conversations learned about the person, who has not answered whether to remember them, unless
        their conversation is searched anyway. A conversation does not see those of others."""
        catalog = look.searcher.catalog
        if is_talk(criteria.by):
            return []
        if not look.searcher.cache().turn_notes:
            return []
        from vaultmem.pending import person_facts  # loads much to compare facts

        facts = look.searcher.cache().once(
            "learned", lambda: person_facts.learned_facts(catalog, self.vault, self.folder)
        )
        waiting = person_facts.undecided_facts(facts, look.answers())
        return [one for one in waiting if not criteria.looks_into(scope_of(one.conversation))]

    def proposed(self, look: Look, facts: Iterable[Candidate]) -> set[str]:
        """The paths of those facts that no memory states yet."""
        paths = {fact.path for fact in facts}
        if not paths:
            return paths
        from vaultmem.pending import person_facts

        catalog, answers = look.searcher.catalog, look.answers()
        return {
            fact.path
            for fact in person_facts.proposed_facts(
                catalog, self.vault, self.folder, answers, paths
            )
        }

    def _ask(self, look: Look, criteria: Criteria, most: int, more: Iterable[Learned]) -> Ask:
        catalog = look.searcher.catalog
        least = LEAST_IMPORTANCE if criteria.has("filters") else 0.0
        notes = look.searcher.cache().once(
            ("memories", criteria.notes, criteria.by, criteria.scopes, least),
            lambda: cache.memories(
                catalog, self.folder, criteria.finds, least, hidden=criteria.notes
            ),
        )
        added = frozenset(candidate.note for candidate in more)
        notes = (notes - added if criteria.notes else notes | added) if added else notes
        sure = criteria.min_confidence if criteria.has("filters") else 0.0
        group = "block" if criteria.notes else "note"
        viewer = access.PERSON if added else look.viewer  # such facts are hidden, but counted
        shape = most, look.semantic, group, (), sure, notes
        return Ask(
            plain(criteria.query),
            *shape,
            all_but=criteria.notes,
            viewer=viewer,
            meaning=criteria.meaning,
        )

    def excerpts(self, criteria: Criteria, candidate: Candidate) -> Iterator[Candidate]:
        """Copies with less and less of its text around the words of the question, down to a few words."""
        marker = Marker(content_words(tokenize(plain(criteria.query))), tokenize)
        width = 8 * criteria.room
        while width >= FEW_WORDS:
            candidate = candidate._replace(content=marker.snippet(candidate.content, width).text)
            yield candidate
            width = width * 7 // 8

    def _is_ours(self, hit: Hit) -> bool:
        """Whether it is a memory, according to the index. Other files among entries answer nothing."""
        inner = hit.path[len(self.folder) + 1 :] if hit.path.startswith(self.folder + "/") else ""
        if not inner or is_our_page(inner) or is_away(inner):
            return False
        top = inner.partition("/")[0]
        is_note = inner.startswith(f"{ARCHIVED_NOTES}/")
        return top in (ENTRIES, *CATEGORIES) or (bool(hit.properties.get("id")) and not is_note)

    def _memory(self, look: Look, path: str, text: str) -> Candidate | None:
        read = self._page(path, text) if text else None
        is_memory = read and not self._is_left(look, read.candidate)
        return self._now(look, read) if read and is_memory else None

    def _is_left(self, look: Look, copy: Candidate) -> bool:
        """Whether a memory that went to the archive left it behind, as "Tea 2.md", for a dream to put away."""
        homes = (f"{self.folder}/{ARCHIVE}/{copy.title.rpartition(mark)[0]}.md" for mark in " -")
        there = [home for home in homes if os.path.exists(f"{self.vault}/{home}")]
        texts = look.searcher.texts.read(there) if there else {}
        reads = filter(None, (self._page(path, text) for path, text in texts.items() if text))
        left = (read.candidate for read in reads)
        return any((one.id, one.content) == (copy.id, copy.content) for one in left)

    def _parse(self, path: str, text: str) -> _Read | None:
        from vaultmem.notes import pages  # not needed if no memory answers

        page = pages.read(self._style(path), text)
        if page.error:
            return None
        fields, inner = page.properties, path[len(self.folder) + 1 :]
        category = category_of(inner, fields.get("category"))
        whole = page.content.strip("\n")
        content, line = without_editor_lines(whole), archive.line_of(text, whole)
        created = seconds(fields.get("created_at"))
        weight = fields.get("importance")
        candidate = Candidate(
            path, line, line + whole.count("\n"), content,
            id=str(fields.get("id") or provisional(path)),
            title=file_name(path),
            memory_type=type_of(fields, category),
            category=category,
            scope=access.scope_of(fields, memory=True),
            created=self._mtime(path) if created is None else created,
            importance=float(weight) if isinstance(weight, (int, float)) else None,
            compressed=fields.get("compressed") is True,
            archived=inner.startswith(f"{ARCHIVE}/"),
            until=seconds(fields.get("until")) if fields.get("replaced_by") else None,
            successor=str(fields.get("replaced_by") or ""),
            forgotten=fields.get("by") in model.FORGETTING and not fields.get("replaced_by"),
            private=is_private(fields),
            origin=access.origin(fields),
            stored_reads=model.stored_reads(fields),
            remind=str(fields.get("remind") or ""), repeat=str(fields.get("repeat") or ""),
        )  # fmt: skip
        ends, is_replaced = seconds(fields.get("expires_at")), bool(fields.get("replaced_by"))
        read = _Read(candidate, model.aging(fields), model.sessions(fields), is_replaced, ends)
        return _entry(read, inner, fields) if inner.startswith(f"{ENTRIES}/") else read

    def _now(self, look: Look, read: _Read) -> Candidate:
        """The facts that also depend on the time, on approvals, and on other memories."""
        parsed = read.candidate
        if "((" in parsed.content:
            content = look.searcher.with_references(parsed.content, look.viewer)
            parsed = parsed._replace(content=content)
        if read.aging.policy != "stable":
            parsed = parsed._replace(
                confidence=read.aging.confidence(look.now, look.searcher.half_life)
            )
        if read.expires is not None and read.expires <= look.now:
            parsed = parsed._replace(expired=True)  # the job that archives it runs once an hour
        if parsed.remind:
            due = reminds_at(parsed.id, parsed.remind, parsed.repeat, look.answers())
            parsed = parsed._replace(remind=due)
        if not parsed.vouched and is_approved(parsed.id, look.answers()):
            parsed = parsed._replace(origin=access.Origin())
        parsed = parsed._replace(trusted=look.trusts(parsed.origin))
        if parsed.compressed and read.sessions and not read.replaced:
            is_summed = not read.sessions.isdisjoint(look.searcher.cache().summed_sessions)
            parsed = parsed._replace(compressed=is_summed)
        return parsed

    def _block(self, look: Look, place: Hit, text: str) -> Candidate:
        fields = with_our_keys(place.properties)
        day = day_start(place.day) if place.day else None
        now = access.marks(text)  # perhaps only since the last sync
        is_in_folder = place.path.startswith(f"{self.folder}/")
        origin = origin_at(place.path, place.properties, self.folder)
        if origin.outside and is_text_approved(text, look.answers()):
            origin = access.Origin()
        front = place.properties if is_front(text, place.line) else {}
        content = readable(cut_lines(text, place.line, place.end_line), front)
        content = look.searcher.with_references(content, look.viewer)
        return Candidate(
            place.path, place.line, place.end_line, content,
            title=place.title,
            memory_type="episodic" if place.day else "semantic",
            scope=access.scope_of({**fields, **now}, memory=is_in_folder),
            created=self._mtime(place.path) if day is None else day,
            private=is_private(fields) or is_private(now),
            origin=origin,
            trusted=look.trusts(origin),
            note=True,
            turn=bool(place.label),
        )  # fmt: skip

    def _mtime(self, path: str) -> float:
        try:
            return os.lstat(f"{self.vault}/{path}").st_mtime
        except OSError:
            return 0.0


def _is_empty(content: str) -> bool:
    """Whether a block has no words of its own besides embeds and their headings; a lone heading counts as words."""
    text = _FROM_ELSEWHERE.sub("", content) if "![" in content else content
    return not text.strip(" \n\r\t-*+>")


def _shares(words: frozenset[str], hit: Hit, text: str) -> bool:
    """Whether a block, its headings or, for a turn, its neighbours have one of these words in any form."""
    above = " ".join((hit.title, *hit.headings, hit.label or ""))
    around = AROUND if hit.label else 0
    near = cut_lines(text, hit.line - around, hit.end_line + around)
    tokens = *tokenize(near), *tokenize(above)
    return not (words.isdisjoint(tokens) and words.isdisjoint(a + b for a, b in pairwise(tokens)))


def _score(candidate: Candidate, hit: Hit, is_memory: bool) -> Candidate:
    length = sum(hit.parts.get(name, 0.0) for name in ("length", "short question", "long note"))
    parts = {"search": hit.score, "length": length}
    if "linked" in hit.parts:
        parts["linked"] = hit.parts["linked"]
    if hit.similarity is not None:
        parts["similarity"] = hit.similarity
    sure = hit.confidence if is_memory else 1.0
    return candidate._replace(confidence=sure, block=hit.line, score=hit.score, parts=parts)


def _entry(read: _Read, inner: str, fields: Properties) -> _Read | None:
    """An entry of a conversation. It is unconfirmed, so only the conversation and the person get it. None for a
    summary, which is presented separately, and for other files."""
    conversation, role = entry_of(inner, fields)
    if not conversation or role not in (MEMORY, USER, ASSISTANT) or not fields.get("id"):
        return None
    kind = read.candidate.memory_type
    if role == MEMORY and fields.get("memory_type") is None:
        kind = "semantic"
    scope = scope_of(conversation)
    origin = access.Origin(scope, read.candidate.origin.outside)
    parsed = read.candidate._replace(
        scope=scope, origin=origin, role=role, turn=role != MEMORY, memory_type=kind
    )
    return read._replace(candidate=parsed)
