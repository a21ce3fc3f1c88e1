"""The verb `recall`: what is known about a question, within a budget of tokens. It takes no turn at the desk: a dream
may sit there for a minute."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from vaultmem.config import Config
from vaultmem.errors import ModelError, StateError, UsageError
from vaultmem.index import minilm
from vaultmem.memories import reads
from vaultmem.memories.asked import Asked
from vaultmem.memories.conversation import is_talk
from vaultmem.memories.desk import Desk
from vaultmem.memories.model import SCOPE, Origin, Viewer, attribution
from vaultmem.memories.reader import Reader
from vaultmem.search import recall_candidate
from vaultmem.search.recall_candidate import (
    NEAR,
    NEAR_OF_PAGES,
    Candidate,
    Chosen,
    Likeness,
    Wanted,
)
from vaultmem.search.recall_sources import Look, Sources
from vaultmem.search.search import Searcher
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import stamp
from vaultmem.text.values import plural

if TYPE_CHECKING:
    from vaultmem.search.rerank import Reranker

LONGEST = 20_000  # characters of a question
NOT_INDEXED = "the vault is not indexed; run vaultmem sync"
Step = dict[str, object]

_recallers: WeakKeyDictionary[Desk, Recaller] = WeakKeyDictionary()
_making = threading.Lock()


def recall(desk: Desk, reader: Reader, asked: Asked) -> dict[str, object]:
    """What is told, best first after the preferences; with `explain`, what each step did."""
    wanted = wanted_of(asked, desk.config, desk.now())
    run = recaller(desk).run(desk, reader, wanted)
    if asked.flag("counts"):
        recaller(desk).count(desk, [one for one, _ in run.chosen.told])
    found: dict[str, object] = {
        "memories": [_told(one, number, wanted.viewer) for one, number in run.chosen.told],
        "tokens": run.chosen.tokens,
        "budget_used": round(run.chosen.tokens / wanted.room, 4),
        "skipped": run.chosen.skipped,
        "left_out": run.left_out,
        **({"held_back": [_held(one) for one in run.held_back]} if run.held_back else {}),
    }
    if run.look.remarks:
        found["remarks"] = run.look.remarks
    return {**found, "explain": run.steps} if asked.flag("explain") else found


def wanted_of(asked: Asked, config: Config, now: float) -> Wanted:
    """What a request wants. Raises UsageError."""
    threshold = asked.number("score_threshold", config.share("recall.score_threshold") or -1.0)
    return Wanted(
        _query(asked), asked.whole("budget"),
        asked.whole("top_k"),
        asked.tags("types"),
        _scopes(asked), asked.flag("notes"), asked.number("min_confidence"),
        asked.flag("include_compressed"), asked.flag("untrusted"),
        None if threshold < 0 else threshold,
        frozenset(asked.tags("without")),
        asked.text("by"), _as_of(asked, now),
    )  # fmt: skip


def _as_of(asked: Asked, now: float) -> float | None:
    """The end of the day that is named, or the moment."""
    if not asked.text("as_of"):
        return None
    at = asked.moment("as_of", datetime.fromtimestamp(now).astimezone(), ahead=False)
    local = datetime.fromtimestamp(at).astimezone()
    return (
        (local.replace(tzinfo=None) + timedelta(days=1)).timestamp()
        if local.time() == time.min
        else at
    )


def _query(asked: Asked) -> str:
    return asked.long_text("query")[:LONGEST]


def _scopes(asked: Asked) -> tuple[str, ...]:
    found = asked.texts("scope")
    for scope in found:
        if not SCOPE.fullmatch(scope):
            raise UsageError(
                f"{scope!r} is no scope; global, agent:NAME, conversation:ID or user:ID"
            )
    return found


def recaller(desk: Desk) -> Recaller:
    """The one of a desk."""
    with _making:
        if desk not in _recallers:
            _recallers[desk] = Recaller(desk)
        return _recallers[desk]


class Recaller:
    """What recalls of one vault share. Any thread may ask."""

    def __init__(self, desk: Desk) -> None:
        self.sources = Sources(desk.vault, desk.folder, desk.rules.page_style)
        self.setting = setting = desk.config.text("recall.reranker")
        self.recency = desk.config.share("recall.recency_weight")
        self.fit = desk.config.share("recall.mmr_lambda")
        threads = desk.config.number("embedding.threads")
        models = str(desk.state.models_folder())
        self.reranker: Reranker | None = None
        if setting != "off":
            from vaultmem.search.rerank import Reranker

            self.reranker = Reranker(setting, models, threads)
        self._told: list[dict[str, int]] = []  # not yet counted as read, each memory once in each
        self._lock = threading.Lock()

    def run(self, desk: Desk, reader: Reader, wanted: Wanted) -> Run:
        """Recall once."""
        searcher, semantic = _searcher(reader, wanted)
        answers = lru_cache(desk.waiting.record.answers)
        remarks = [f"keyword results only: {reader.trouble}"] if reader.trouble else []
        trust = desk.config.text("recall.trust")
        look = Look(searcher, semantic, answers, desk.now(), remarks, wanted.viewer, trust)
        run = Run(self, look, wanted)
        run.carry_out()
        return run

    def count(self, desk: Desk, told: Iterable[Candidate]) -> None:
        """To be told of counts as being read; who asks need not wait until that is written down."""
        with self._lock:
            is_first = not self._told
            for one in told:
                if one.id:
                    _put(self._told, one)
            if not is_first or not self._told:
                return
        desk.later(lambda: self._write_down(desk))

    def _write_down(self, desk: Desk) -> None:
        with self._lock:
            told, self._told = self._told, []
        with contextlib.suppress(StateError):  # to recall is possible where nothing can be written
            for stored in told:
                reads.add(desk.ledger, stored, desk.now())


def _put(told: list[dict[str, int]], one: Candidate) -> None:
    free = next((each for each in told if one.id not in each), None)
    if free is None:
        told.append(free := {})
    free[one.id] = one.stored_reads


def _searcher(reader: Reader, wanted: Wanted) -> tuple[Searcher, bool]:
    """An open index; whether it knows meaning."""
    found = reader.meaning() if wanted.has("meaning") else None
    searcher = found[0] if found else reader.searcher()
    if searcher is None:
        raise StateError(NOT_INDEXED)
    return searcher, found is not None


class Run:
    """One recall, step by step; `steps` says what each did."""

    def __init__(self, recaller: Recaller, look: Look, wanted: Wanted) -> None:
        self.look, self.wanted = look, wanted
        self.steps: list[Step] = []
        self.left_out: dict[str, int] = {}
        self.held_back: list[Candidate] = []  # until the person approves it
        self.chosen = Chosen([], 0, 0)
        self._recaller, self._sources = recaller, recaller.sources

    def carry_out(self) -> None:
        """Make all steps."""
        found = self._fitting(self._candidates())
        found = self._recency(self._relevance(found))
        found = self._diversity(self._confidence(found))
        self._budget([*found, *self._archived()])

    def _archived(self) -> list[Candidate]:
        """The last tier: what age alone put away, and of a time in the past what held then."""
        found = self._sources.archived(self.look, self.wanted)
        kept, _ = recall_candidate.kept(found, self.wanted)
        if replaced := recall_candidate.replaced(found, self.wanted):
            self.left_out["replaced"] = replaced
        return kept

    def _candidates(self) -> list[Candidate]:
        """Search and filter; where filters leave too few, look further."""
        most = self.wanted.most
        more = self._sources.unremembered(self.look, self.wanted)
        facts = {one.path for one in more}
        while True:
            every = self._sources.found(self.look, self.wanted, most, more)
            found = [one for one in every if one.path not in facts]
            kept, self.left_out = recall_candidate.kept(found, self.wanted)
            if len(kept) >= self.wanted.most or len(every) < most or len(kept) == len(every):
                break
            most *= 4
        kept = kept[: self.wanted.most]
        held = [*recall_candidate.held_back(found, self.wanted), *self._unremembered(every, facts)]
        self.held_back = held[: self.wanted.top_k]
        how = "words and meaning" if self.look.semantic else "words"
        where = "memories and notes" if self.wanted.notes else "memories"
        scopes = ", ".join(self.wanted.known_scopes)
        but = " but unimportant ones" if self.wanted.has("filters") else ""
        self._say("candidates", f"searched {where} of {scopes}{but} by {how}", found)
        left = ", ".join(f"{number} {why}" for why, number in self.left_out.items())
        self._say("filters", f"left out {left or 'none'}", kept)
        return kept

    def _unremembered(self, found: list[Candidate], facts: set[str]) -> list[Candidate]:
        """Facts of conversations among the best: one tick, and they are memories."""
        may = {one.path for one in recall_candidate.kept(found, self.wanted)[0]} | facts
        best = recall_candidate.fitting(one for one in found if one.path in may)
        among = [one for one in best[: self.wanted.top_k] if one.path in facts and not one.private]
        there = self._sources.proposed(self.look, among)
        return [one for one in among if one.path in there]

    def _fitting(self, found: list[Candidate]) -> list[Candidate]:
        if not self._wants("fit"):
            return found
        fit = recall_candidate.fitting(found)
        bar = f"{NEAR}, of pages {NEAR_OF_PAGES}"
        said = f"left out {len(found) - len(fit)} with no telling word of the question and a cosine below {bar}"
        self._say("fit", said, fit)
        return fit

    def _relevance(self, found: list[Candidate]) -> list[Candidate]:
        logits = self._logits(found)
        threshold = self.wanted.score_threshold
        if logits is not None:
            found = recall_candidate.reranked(found, logits)
        squashed = logits is not None and threshold is not None
        found = recall_candidate.squashed(found) if squashed else recall_candidate.scaled(found)
        if threshold is not None:
            found = [one for one in found if one.score >= threshold]
        if logits is not None:
            how = "sigmoid" if squashed else "min-max"
            self._say("rerank", f"{self._recaller.setting}, scores by {how}", found)
        return found

    def _logits(self, found: list[Candidate]) -> list[float] | None:
        reranker = self._recaller.reranker
        if not self._wants("rerank"):
            return None
        if reranker is None:
            self._say(
                "rerank", "skipped: recall.reranker is off; scores of the search by min-max", found
            )
            return None
        try:
            return (
                reranker.scores(self.wanted.query, [one.content for one in found]) if found else []
            )
        except ModelError as error:
            self._say("rerank", f"skipped: {error}", found)
            self.look.remarks.append(f"not reranked: {error}")
            return None

    def _recency(self, found: list[Candidate]) -> list[Candidate]:
        if not self._wants("recency"):
            return found
        weight = self._recaller.recency
        found = recall_candidate.with_recency(found, self.look.now, weight)
        how = f"{1 - weight:g} relevance + {weight:g} exp(-age in days / 30)"
        self._say("recency", how, found)
        return found

    def _confidence(self, found: list[Candidate]) -> list[Candidate]:
        if not self._wants("confidence"):
            return found
        found = recall_candidate.with_confidence(found)
        self._say("confidence", "score times confidence", found)
        return found

    def _diversity(self, found: list[Candidate]) -> list[Candidate]:
        if not self._wants("mmr"):
            return recall_candidate.best_first(found)
        found = recall_candidate.best_first(found)
        like, how = self._likeness(found)
        weight = self._recaller.fit
        found = recall_candidate.diverse(found, recall_candidate.of_a_kind(found, like), weight)
        said = f"{weight:g} score - {1 - weight:g} likeness to what comes before, by {how}"
        self._say("mmr", said, found)
        return found

    def _likeness(self, found: Sequence[Candidate]) -> tuple[Likeness, str]:
        hashes = self._sources.hashes(self.look, found) if self.look.semantic else {}
        if len(hashes) < len(found) or not found:
            return recall_candidate.by_words(found), "shared words"
        rows = self.look.searcher.meaning().likeness(list(hashes.values()))
        order = [rows.get(hashes[one.key], {}) for one in found]
        keys = [hashes[one.key] for one in found]
        if any(key not in rows for key in keys):  # not embedded yet
            return recall_candidate.by_words(found), "shared words"
        return lambda one, other: max(0.0, order[one][keys[other]]), "cosine"

    def _budget(self, found: list[Candidate]) -> None:
        chosen = recall_candidate.within(found, self.wanted.top_k, self.wanted.room, _count)
        told = [one for one, _ in chosen.told]
        if self._wants("preferences"):
            chosen = recall_candidate.arranged(chosen, _may_contradict)
            pinned = [one for one in told if one.is_preference]
            self._say(
                "preferences", "first, and what may contradict side by side, newest first", pinned
            )
        self.chosen = chosen
        said = f"{chosen.tokens:,} of {self.wanted.room:,} tokens, {chosen.skipped} did not fit"
        self._say("budget", said if self._wants("budget") else f"{chosen.tokens:,} tokens", told)
        if chosen.too_long:
            size = plural(chosen.too_long, "token")
            self.look.remarks.append(
                f"what fits best has {size} and does not fit into a budget of {self.wanted.room:,}"
            )

    def _wants(self, step: str) -> bool:
        if not self.wanted.has(step):
            self.steps.append({"step": step, "did": "switched off"})
            return False
        return True

    def _say(self, step: str, did: str, left: Sequence[Candidate]) -> None:
        self.steps.append({"step": step, "did": did, "left": len(left)})


def _may_contradict(older: str, newer: str) -> bool:
    from vaultmem.memories.supersede import may_contradict  # only where two memories answer

    return may_contradict(older, newer)


def _count(one: Candidate) -> int:
    return minilm.count(one.content)


def _held(one: Candidate) -> dict[str, object]:
    """What names it to the person, and says nothing of what it says."""
    by = None if is_talk(one.writer) else one.writer or None
    return {"id": one.id or None, "by": by, "note": one.note}


def _attribution(one: Candidate, to: Viewer) -> str | None:
    """Whose words they are, where nobody has approved them."""
    origin = Origin(one.writer, one.outside)
    return None if one.vouched else one_line(attribution(origin, to)) or None


def _told(one: Candidate, number: int, to: Viewer) -> dict[str, object]:
    found: dict[str, object] = {
        "id": one.id or None, "path": one.path, "line": one.line, "end_line": one.end_line, "title": one.title,
        "content": one.content, "memory_type": one.memory_type, "category": one.category or None, "scope": one.scope,
        "confidence": one.confidence, "importance": one.importance, "created_at": stamp(one.created),
        "archived": one.archived, "until": None if one.until is None else stamp(one.until),
        "attribution": _attribution(one, to), "trusted": one.trusted, "vouched": one.vouched,
        "kind": "note" if one.note else "memory", "role": one.role,
        "score": round(one.score, 4), "tokens": number,
        "parts": {name: round(part, 4) for name, part in one.parts.items()},
    }  # fmt: skip
    return found
