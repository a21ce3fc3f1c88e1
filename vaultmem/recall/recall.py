"""The verb `recall`: what is known about a question, within a budget of tokens. It does not take the lock of the
store, which a dream may hold for a minute."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from weakref import WeakKeyDictionary

from vaultmem.embedding import wordpieces
from vaultmem.errors import ModelError, StateError
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING, allocate_lock
from vaultmem.memories.access import SCOPE
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.store import MemoryStore
from vaultmem.plugins import language
from vaultmem.recall import hop, recall_candidate, recall_text
from vaultmem.recall.criteria import Criteria, criteria_of
from vaultmem.recall.recall_candidate import (
    NEAR,
    NEAR_OF_PAGES,
    Candidate,
    best_first,
)
from vaultmem.recall.recall_sources import Look, Sources
from vaultmem.recall.recall_text import Chosen, held_back_json, to_json
from vaultmem.search.query import in_third_person, plain
from vaultmem.search.search import Searcher
from vaultmem.text.values import plural

if TYPE_CHECKING:
    from vaultmem.api.rpc import Reader
    from vaultmem.embedding.models import Reranker
    from vaultmem.recall.recall_candidate import Similarities
    from vaultmem.recall.recall_text import RecallReport

AS_USER = 3  # answers to a question about the person that has no other
Result = tuple[list[Candidate], str]  # the candidates, and what a step did
NOT_INDEXED = "the vault is not indexed; run vaultmem sync"
UNFINISHED = "the first indexing is not finished; more will be found soon"

_recallers: WeakKeyDictionary[MemoryStore, Recaller] = WeakKeyDictionary()
_making = allocate_lock()


def recall(store: MemoryStore, reader: Reader, request: Arguments) -> RecallReport:
    """The answer, best first after preferences; with `explain`, what each step did."""
    criteria = criteria_of(request, store.config, store.now())
    run = recaller(store).run(store, reader, criteria)
    if request.flag("counts"):
        recaller(store).count(store, [item for item, _ in run.chosen.items], criteria.viewer.name)
    report: RecallReport = {
        "memories": [to_json(item, number, criteria.viewer) for item, number in run.chosen.items],
        "tokens": run.chosen.tokens,
        "budget_used": round(run.chosen.tokens / criteria.room, 4),
        "skipped": run.chosen.skipped,
        "left_out": run.left_out,
    }
    if run.held_back:
        report["held_back"] = [*map(held_back_json, run.held_back)]
    if run.look.remarks:
        report["remarks"] = run.look.remarks
    if request.flag("explain"):
        report["explain"] = run.steps
    return report


def recaller(store: MemoryStore) -> Recaller:
    """The recaller of a store."""
    with _making:
        if store not in _recallers:
            _recallers[store] = Recaller(store)
        return _recallers[store]


class Recaller:
    """The caches that recalls of one vault share. Thread-safe."""

    def __init__(self, store: MemoryStore) -> None:
        self.sources = Sources(store.vault, store.folder, store.rules.page_style)
        self.setting = setting = store.config.text("recall.reranker")
        threads = store.config.number("embedding.threads")
        models = str(store.state.models_folder())
        self.reranker: Reranker | None = None
        if setting != "off":
            from vaultmem.embedding.models import Reranker

            self.reranker = Reranker(setting, models, threads)
        self._unread: list[tuple[str, dict[str, int]]] = []  # reads by viewer, not counted yet
        self._lock = allocate_lock()

    def run(self, store: MemoryStore, reader: Reader, criteria: Criteria) -> Run:
        """Recall once."""
        searcher, semantic = _searcher(reader, criteria)
        answers = lru_cache(store.answers)
        remarks = [f"keyword results only: {reader.trouble}"] if reader.trouble else []
        if not store.state.is_complete():
            remarks.append(UNFINISHED)
        trust = store.config.text("recall.trust")
        look = Look(searcher, semantic, answers, store.now(), remarks, criteria.viewer, trust)
        run = Run(self, look, criteria)
        run.carry_out()
        return run

    def count(self, store: MemoryStore, chosen: Iterable[Candidate], by: str = "") -> None:
        """Count the memories of an answer as read by the viewer, in the background."""
        stored = {item.id: item.stored_reads for item in chosen if item.id}
        with self._lock:
            is_first = not self._unread
            self._unread += [(by, stored)] if stored else []
        if is_first and stored:
            store.later(lambda: self._write_down(store))

    def _write_down(self, store: MemoryStore) -> None:
        with self._lock:
            unread, self._unread = self._unread, []
        with contextlib.suppress(StateError):  # recall works even where nothing can be written
            for by, stored in unread:
                reads.add(store.ledger, stored, store.now(), by)


def _searcher(reader: Reader, criteria: Criteria) -> tuple[Searcher, bool]:
    """An open index, and whether it has vectors."""
    opened = reader.meaning() if criteria.has("meaning") else None
    searcher = opened[0] if opened else reader.searcher()
    if searcher is None:
        raise StateError(NOT_INDEXED)
    return searcher, opened is not None


class Run:
    """One recall, step by step; `steps` records what each did."""

    def __init__(self, recaller: Recaller, look: Look, criteria: Criteria) -> None:
        self.look, self.criteria = look, criteria
        self.steps: list[dict[str, str | int]] = []
        self.left_out: dict[str, int] = {}
        self.held_back: list[Candidate] = []  # held back until the person approves it
        self.replaced = 0  # live ones left out, because something newer certainly replaces them
        self.chosen = Chosen([], 0, 0)
        self._recaller, self._sources = recaller, recaller.sources

    def carry_out(self) -> None:
        """Run all steps."""
        pool = self._step("hop", self._second_round, self._candidates())
        candidates = self._score(self._step("fit", self._relevant, pool))
        candidates = self._step("recency", self._recency, candidates)
        candidates = best_first(self._step("confidence", self._confidence, candidates))
        candidates = self._step("mmr", self._diversity, candidates)
        if language().asks_latest(self.criteria.query):
            candidates = recall_candidate.latest_first(candidates)
            self._say("latest", "of what fits, the latest first", candidates)
        elif self.criteria.past is None:
            candidates = self._step("newer", partial(self._after_newer, pool), candidates)
        self._budget(self._with_archive(candidates))

    def _after_newer(self, pool: Iterable[Candidate], candidates: list[Candidate]) -> Result:
        """Each memory after what is probably newer about the same, whether or not it answers the question."""
        best = [item for item in candidates if item.states]
        if not best:
            return candidates, "no memory answers"
        from vaultmem.recall import newer

        if self.look.semantic:
            read = partial(self._sources.allowed, self.look, self.criteria)
            changes = newer.by_meaning(self.look.searcher, self._sources.folder, best, read)
        else:
            changes = newer.among(best, [item for item in best_first(pool) if item.states])
        listed = newer.newest_first(candidates, changes.newer)
        self.replaced = sum(item.key in changes.replaced for item in listed)
        did = f"{len(changes.newer):,} listed after what is newer about the same, {self.replaced:,} of them left out"
        return [item for item in listed if item.key not in changes.replaced], did

    def _step(
        self, name: str, work: Callable[[list[Candidate]], Result], candidates: list[Candidate]
    ) -> list[Candidate]:
        """Run a step unless it is switched off, and record what it did."""
        if not self._wants(name):
            return candidates
        candidates, did = work(candidates)
        self._say(name, did, candidates)
        return candidates

    def _with_archive(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Add memories of the archive: first those that held at a past time and answer as well as the best, then the
        replacements of those that would answer as well, then those archived only for age."""
        archived = self._sources.archived(self.look, self.criteria, candidates)
        allowed, _ = recall_candidate.filter_allowed(archived, self.criteria)
        answers = self._replacements(candidates, archived)
        first, others = candidates[:1], candidates[1:]
        held = [item for item in allowed if item.until is not None and item.parts["lead"] >= 0]
        is_early = bool(first) and self.criteria.is_before(first[0])
        before = [item for item in held if is_early or item.parts["lead"] > 0]
        places = {item.id: place for place, item in enumerate(candidates)}
        before.sort(key=lambda item: (-item.parts["lead"], places.get(item.successor, len(places))))
        return [
            *before,
            *first,
            *(item for item in held if item not in before),
            *(item for id_, item in answers.items() if id_ not in {best.id for best in first}),
            *(item for item in others if item.id not in answers),
            *(item for item in allowed if item not in held),
        ]

    def _replacements(
        self, candidates: Sequence[Candidate], archived: Sequence[Candidate]
    ) -> dict[str, Candidate]:
        """What replaced the memories of the archive that would answer as well, by id."""
        by_id = {item.id: item for item in candidates[: self.criteria.top_k]}
        newer: list[str] = []
        answers: dict[str, Candidate] = {}
        for old in recall_candidate.replaced(archived, self.criteria):
            item = by_id.get(old.successor) or self._sources.successor(self.look, old)
            if item and self.criteria.may_know(item):
                newer.append(item.id)
                lead, query = old.parts["lead"], self.criteria.query
                fits = lead > 0 or old.parts["shared"] == 1
                fits = fits or (lead == 0 and hop.has_names(query, old.content))
                if fits and recall_candidate.filter_allowed([item], self.criteria)[0]:
                    answers[item.id] = item
        if count := self.replaced + sum(id_ in by_id or id_ in answers for id_ in newer):
            self.left_out["replaced"] = count
        return answers

    def _candidates(self) -> list[Candidate]:
        """Search and filter; if filters leave too few, search further."""
        most = self.criteria.most
        more = self._sources.unremembered(self.look, self.criteria)
        facts = {item.path for item in more}
        while True:
            every = self._sources.search(self.look, self.criteria, most, more)
            permitted = filter(self.criteria.may_know, every)
            results = [item for item in permitted if item.path not in facts]
            allowed, self.left_out = recall_candidate.filter_allowed(results, self.criteria)
            is_enough = len(allowed) >= min(len(every), self.criteria.most)
            if is_enough or len(every) < most:
                break
            most *= 4
        allowed = allowed[: self.criteria.most]
        best = recall_candidate.relevant(results)
        trusting = self.criteria._replace(untrusted=True)
        held = recall_candidate.only_in(trusting, best, self.criteria)
        self.held_back = [*held, *self._unconfirmed_facts(every, facts)][: self.criteria.top_k]
        self._name_scopes(best)
        how = "words and meaning" if self.look.semantic else "words"
        where = "memories and notes" if self.criteria.notes else "memories"
        scopes = ", ".join(self.criteria.known_scopes)
        but = ", without unimportant ones," if self.criteria.has("filters") else ""
        self._say("candidates", f"{where} of scope {scopes}{but} by {how}", results)
        left = ", ".join(f"{number} {why}" for why, number in self.left_out.items())
        self._say("filters", f"left out: {left or 'none'}", allowed)
        return allowed

    def _name_scopes(self, best: list[Candidate]) -> None:
        """Add a remark on scopes with further answers, which the person can name."""
        named = {item.scope for item in best if SCOPE.fullmatch(item.scope)}
        wider = self.criteria._replace(scopes=tuple(named))
        if others := recall_candidate.only_in(wider, best, self.criteria):
            from shlex import quote

            scopes = sorted({other.scope for other in others})
            options = " ".join(f"--scope {quote(scope)}" for scope in scopes)
            left = f"{plural(len(others), 'answer')} of other scopes left out"
            self.look.remarks.append(f"{left}; recall with {options} includes them")

    def _second_round(self, candidates: list[Candidate]) -> Result:
        if rest := hop.without_own_name(plain(self.criteria.query), candidates):
            self.criteria = self.criteria._replace(query=rest)
            candidates = hop.merged(candidates, self._candidates())
            self._say("name", f"also searched without the person's own name: {rest}", candidates)
        form = in_third_person(self.criteria.query) if self.look.semantic else ""
        if form and not self._fitting(candidates):
            self.criteria = self.criteria._replace(meaning=form)
            candidates = best_first(self._candidates())[:AS_USER]
            self._say("user", f"nothing fits; compared with: {form}", candidates)
        candidates = hop.beside_event(self.look, self._sources, self.criteria, candidates)
        return hop.followed(self.look, self._sources, self.criteria, candidates)

    def _unconfirmed_facts(self, candidates: list[Candidate], facts: set[str]) -> list[Candidate]:
        """Facts of conversations among the best, which the person can approve as memories."""
        may = {
            item.path for item in recall_candidate.filter_allowed(candidates, self.criteria)[0]
        } | facts
        best = recall_candidate.relevant(item for item in candidates if item.path in may)
        among = [
            item for item in best[: self.criteria.top_k] if item.path in facts and not item.private
        ]
        there = self._sources.proposed(self.look, among)
        return [item for item in among if item.path in there]

    def _relevant(self, candidates: list[Candidate]) -> Result:
        fit = self._fitting(candidates)
        bar = f"{NEAR}, of pages {NEAR_OF_PAGES}"
        if left := len(candidates) - len(fit):
            self.left_out["of little relevance"] = left
        lacking = "without a content word of the question or its day (or with one by chance), and a cosine below"
        return fit, f"left out: {left} {lacking} {bar}"

    def _fitting(self, candidates: list[Candidate]) -> list[Candidate]:
        return recall_candidate.relevant(candidates, self.criteria.query, self.look.now)

    def _score(self, candidates: list[Candidate]) -> list[Candidate]:
        logits = self._logits(candidates)
        threshold = self.criteria.score_threshold
        if logits is not None:
            candidates = recall_candidate.rerank_scores(candidates, logits)
        squashed = logits is not None and threshold is not None
        scale = recall_candidate.squash_scores if squashed else recall_candidate.scale_scores
        candidates = scale(candidates)
        if threshold is not None:
            candidates = [item for item in candidates if item.score >= threshold]
        if logits is not None:
            how = "sigmoid" if squashed else "min-max"
            self._say("rerank", f"{self._recaller.setting}, scores by {how}", candidates)
        return candidates

    def _logits(self, candidates: list[Candidate]) -> list[float] | None:
        reranker = self._recaller.reranker
        if not self._wants("rerank"):
            return None
        if reranker is None:
            off = "skipped: recall.reranker is off; search scores scaled by min-max"
            self._say("rerank", off, candidates)
            return None
        try:
            contents = [item.content for item in candidates]
            return reranker.scores(self.criteria.query, contents) if contents else []
        except ModelError as error:
            self._say("rerank", f"skipped: {error}", candidates)
            self.look.remarks.append(f"not reranked: {error}")
            return None

    def _recency(self, candidates: list[Candidate]) -> Result:
        weight = self.criteria.recency_weight
        did = f"{1 - weight:g} relevance + {weight:g} exp(-age in days / 30)"
        return recall_candidate.with_recency(candidates, self.look.now, weight), did

    def _confidence(self, candidates: list[Candidate]) -> Result:
        share = recall_candidate.CONFIDENCE_WEIGHT
        return recall_candidate.with_confidence(candidates), f"score - {share:g} (1 - confidence)"

    def _diversity(self, candidates: list[Candidate]) -> Result:
        similar, how = self._similarities(candidates)
        similar, weight = recall_candidate.repeating(candidates, similar), self.criteria.mmr_lambda
        did = f"{weight:g} score - {1 - weight:g} similarity to items above, by {how}"
        return recall_candidate.diverse(candidates, similar, weight), did

    def _similarities(self, candidates: Sequence[Candidate]) -> tuple[Similarities, str]:
        if self.look.semantic and candidates:
            hashes = self._sources.hashes(self.look, candidates)
            keys = [hashes[item.key] for item in candidates if item.key in hashes]
            cosines = self.look.searcher.meaning().similarities(keys)
            if cosines is not None and len(keys) == len(candidates):
                return cosines, "cosine"
        return recall_candidate.by_words(candidates), "shared words"

    def _budget(self, candidates: list[Candidate]) -> None:
        candidates = self._shorten_best(candidates)
        chosen = recall_text.within(candidates, self.criteria.top_k, self.criteria.room, _count)
        items = [item for item, _ in chosen.items]
        if self._wants("preferences"):
            chosen = recall_text.preferences_first(chosen)
            pinned = [item for item in items if item.is_preference]
            self._say("preferences", "listed first", pinned)
        self.chosen = chosen
        text = f"{chosen.tokens:,} of {self.criteria.room:,} tokens, {chosen.skipped} did not fit"
        self._say("budget", text if self._wants("budget") else f"{chosen.tokens:,} tokens", items)

    def _shorten_best(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates, with the best one shortened if it alone exceeds the budget."""
        room = self.criteria.room
        if not candidates or (size := _count(candidates[0])) <= room:
            return candidates
        best, *others = candidates
        excerpts = self._sources.excerpts(self.criteria, best)
        short = next((excerpt for excerpt in excerpts if _count(excerpt) <= room), None)
        how = "is cut to" if short else "does not fit into"
        place, length = f"{best.path}:{best.line}", plural(size, "token")
        text = f"what fits best, {place}, has {length} and {how} a budget of {room:,}"
        self.look.remarks.append(text)
        return [short or best, *others]

    def _wants(self, step: str) -> bool:
        if not (is_wanted := self.criteria.has(step)):
            self.steps.append({"step": step, "did": "switched off"})
        return is_wanted

    def _say(self, step: str, did: str, left: Sequence[Candidate]) -> None:
        self.steps.append({"step": step, "did": did, "left": len(left)})


def _count(item: Candidate) -> int:
    return wordpieces.count(item.content)
