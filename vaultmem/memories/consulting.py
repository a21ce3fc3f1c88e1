"""Has the model of the settings help with jobs: it sums up old sessions before a deep dream, and is asked afterwards
about what rules could not decide. Nobody waits at the desk for its answers; without them a dream is as without it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from vaultmem.config import Config
from vaultmem.core import advice, summary_prompts
from vaultmem.core.advice import CONTRADICTION, FIRST, KINDS, MERGE, SECOND, Doubt
from vaultmem.core.asking import Model
from vaultmem.core.sessions import TOKENS
from vaultmem.errors import LlmError, VaultmemError
from vaultmem.plans.dream import DEEP
from vaultmem.store.llm import Budget, open_model

log = logging.getLogger("vaultmem.memories")

Report = dict[str, object]
Record = dict[str, object]


class Asking(NamedTuple):
    """A vault, as far as it is asked here."""

    ask: Callable[..., Report]
    release: Callable[[], None]  # gives back what others may wait for
    config: Config


def dream(vault: Asking, given: Record) -> Report:
    """Dream; with a model, a deep one is helped by it, and the report has "model": what it was asked, and what became
    of that."""
    level, trial = given.get("level"), bool(given.get("dry_run"))
    counsel = _Counsel(vault) if level == DEEP and not trial and _is_set(vault.config) else None
    if counsel is None:
        return vault.ask("dream", **given)
    summaries = counsel.summaries(only_news=bool(given.get("only_news")))
    report = vault.ask("dream", **given, summaries=summaries)
    if "proposals" in report:  # else there was nothing new
        counsel.advise(report)
    return {**report, "model": counsel.told()}


def compress(vault: Asking, given: Record) -> Report:
    """Sum up old sessions; with a model in its words."""
    if given.get("dry_run") or not _is_set(vault.config):
        return vault.ask("compress", **given)
    counsel = _Counsel(vault)
    report = vault.ask("compress", **given, summaries=counsel.summaries(only_news=False))
    return {**report, "model": counsel.told()}


def _is_set(config: Config) -> bool:
    return bool(config.text("llm.base_url"))


class _Counsel:
    """The model, and what it did."""

    def __init__(self, vault: Asking) -> None:
        self._vault = vault
        self._calls = vault.config.number("llm.calls")
        self._name = vault.config.text("llm.model")
        self._asked = self._summed = self._proposed = 0
        self._trouble = ""
        self._model: Model | None = None
        try:
            self._model = open_model(vault.config)
        except LlmError as error:
            self._give_up(error)

    def told(self) -> Report:
        """For the report."""
        return {
            "asked": self._asked, "summaries": self._summed, "proposed": self._proposed, "trouble": self._trouble,
        }  # fmt: skip

    def _give_up(self, error: VaultmemError) -> None:
        log.info("a model was of no help: %s", error)
        self._trouble = self._trouble or str(error)

    # --- Sessions

    def summaries(self, *, only_news: bool) -> list[Record]:
        """Summaries of old sessions, as many as there may be calls, each with the "id" it is to have. After a failure
        their own sentences have to do."""
        asked = self._vault.ask("old-sessions", limit=self._calls, only_news=only_news)["sessions"]
        assert isinstance(asked, list)
        self._vault.release()
        model = self._budget()
        return [{"id": one["id"], "text": self._summary(model, one["texts"])} for one in asked]

    def _budget(self) -> Model | None:
        return None if self._model is None else Budget(self._model, self._calls)

    def _summary(self, model: Model | None, texts: list[str]) -> str:
        if model is None or self._trouble or not texts:
            return ""
        self._asked += 1
        try:
            said = model.ask(summary_prompts.remembered(texts, TOKENS))
        except LlmError as error:
            self._give_up(error)
            return ""
        text = summary_prompts.told(said) if isinstance(said, str) else ""
        self._summed += bool(text)
        return text

    # --- Doubts

    def advise(self, report: Report) -> None:
        """Ask about what is in doubt, and hand the advice in; the report counts it among the proposals."""
        if self._model is None or self._trouble:
            return
        try:
            doubts = self._vault.ask("doubts")["doubts"]
            assert isinstance(doubts, list)
            self._vault.release()
            answers = self._answers(doubts)
            if answers:
                kept = self._vault.ask("advise", answers=answers, model=self._name)
                proposed, open_, before = kept["proposed"], kept["open"], report["proposals"]
                assert isinstance(proposed, int)
                assert isinstance(before, int)
                self._proposed = proposed
                report["proposals"] = before + proposed
                log.info("a model has proposed %s, %s are open", proposed, open_)
        except VaultmemError as error:  # the dream itself is done
            self._give_up(error)

    def _answers(self, doubts: list[Record]) -> list[Record]:
        """The answers as far as they came; what was not asked is asked by the next dream."""
        model = self._budget()
        found: list[Record] = []
        for kind, batch in _batches(doubts)[: self._calls]:
            assert model is not None
            told = [Doubt(_texts(one, "texts"), _texts(one, "days")) for one in batch]
            self._asked += 1
            try:
                said = advice.read(kind, model.ask(advice.question(kind, told)), len(batch))
            except LlmError as error:
                self._give_up(error)
                break
            if not said:
                self._give_up(LlmError(f"{self._name} did not answer as it was asked"))
                break
            given = {one.place: one for one in said}
            found += [_answer(one, given.get(at)) for at, one in enumerate(batch)]
        return _without_contrary(found)


def _batches(doubts: list[Record]) -> list[tuple[str, list[Record]]]:
    """All that is asked in one call each: the first of every kind before the second of any."""
    by_kind = {kind: [one for one in doubts if one["kind"] == kind] for kind in KINDS}
    found = [
        (start, kind, each[start : start + advice.BATCH])
        for kind, each in by_kind.items()
        for start in range(0, len(each), advice.BATCH)
    ]
    found.sort(key=lambda one: (one[0], -KINDS.index(one[1])))
    return [(kind, batch) for _, kind, batch in found]


def _texts(one: Record, name: str) -> tuple[str, ...]:
    given = one.get(name)
    return tuple(map(str, given)) if isinstance(given, list) else ()


def _answer(doubt: Record, said: advice.Advice | None) -> Record:
    choice, ids = said.choice if said else "", _texts(doubt, "memories")
    if doubt["kind"] == CONTRADICTION and choice:
        choice = dict(zip((FIRST, SECOND), ids, strict=True))[choice]
    own = {name: doubt[name] for name in ("id", "kind", "memories")}
    return {**own, "choice": choice, "reason": said.reason if said else ""}


def _without_contrary(answers: list[Record]) -> list[Record]:
    """Two that contradict each other are not merged, whatever was said of them."""
    against = {
        frozenset(_texts(one, "memories"))
        for one in answers
        if one["kind"] == CONTRADICTION and one["choice"]
    }
    return [
        {**one, "choice": ""}
        if one["kind"] == MERGE and frozenset(_texts(one, "memories")) in against
        else one
        for one in answers
    ]
