"""Has the model of the settings help with jobs: it sums up old sessions before a deep dream, and is asked afterwards
about what rules could not decide. Nobody waits at the desk for its answers; without them a dream is as without it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from vaultmem.config import Config
from vaultmem.core import advice, summaries
from vaultmem.core.advice import FIRST, SECOND, Advice, Doubt
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
            said = model.ask(summaries.remembered(texts, TOKENS))
        except LlmError as error:
            self._give_up(error)
            return ""
        text = summaries.told(said) if isinstance(said, str) else ""
        self._summed += bool(text)
        return text

    # --- Doubts

    def advise(self, report: Report) -> None:
        """Ask one question about what is in doubt; the report counts the advice among the proposals. What does not fit
        into the question is asked by the next dream."""
        if self._model is None or self._trouble:
            return
        try:
            doubts = self._vault.ask("doubts")["doubts"]
            assert isinstance(doubts, list)
            self._vault.release()
            if not doubts:
                return
            answers = self._answers(self._model, doubts)
            kept = self._vault.ask("advise", answers=answers, model=self._name)
            proposed, open_, before = kept["proposed"], kept["open"], report["proposals"]
            assert isinstance(proposed, int)
            assert isinstance(before, int)
            self._proposed = proposed
            report["proposals"] = before + proposed
            log.info("a model has proposed %s, %s are open", proposed, open_)
        except VaultmemError as error:  # the dream itself is done
            self._give_up(error)

    def _answers(self, model: Model, doubts: list[Record]) -> list[Record]:
        """An answer for each doubt. Raises LlmError."""
        described = [Doubt(_texts(one, "texts"), _texts(one, "days")) for one in doubts]
        self._asked += 1
        found = {
            one.place: one for one in advice.read(model.ask(advice.question(described)), described)
        }
        if not found:
            raise LlmError(f"{self._name} did not answer as it was asked")
        return [_answer(one, found.get(at)) for at, one in enumerate(doubts)]


def _texts(one: Record, name: str) -> tuple[str, ...]:
    given = one.get(name)
    return tuple(map(str, given)) if isinstance(given, list) else ()


def _answer(doubt: Record, said: Advice | None) -> Record:
    """Of a pair the choice is the id of the memory that holds."""
    choice, ids = said.choice if said else "", _texts(doubt, "memories")
    if choice in (FIRST, SECOND):
        choice = ids[choice == SECOND]
    own = {name: doubt[name] for name in ("id", "memories")}
    return {**own, "choice": choice, "reason": said.reason if said else ""}
