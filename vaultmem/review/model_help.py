"""Jobs with the help of the language model of the settings: it sums up old sessions before a deep dream, and answers
one question afterwards. The vault is not locked meanwhile; without a model the job does the rest by rules."""

from __future__ import annotations

import logging

from vaultmem import plugins
from vaultmem.adapter.services import Model
from vaultmem.dreams import summaries
from vaultmem.dreams.dream import DEEP
from vaultmem.errors import LlmError, VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.memories.conversation import TOKENS
from vaultmem.memories.reports import PlanReport, Tally
from vaultmem.review import advice
from vaultmem.review.advice import Doubt

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api.memory_vault import MemoryVault

log = logging.getLogger("vaultmem.memories")


def dream(vault: MemoryVault, params: JsonObject) -> PlanReport:
    """Dream; a deep one with the help of the model, if there is one."""
    report: PlanReport
    if params.get("level") != DEEP or not _may_help(vault, params):
        report = vault.ask("dream", **params)
        return report
    assistant = _Assistant(vault)
    texts = assistant.summaries(only_news=bool(params.get("only_news")))
    report = vault.ask("dream", **params, summaries=texts)
    if "proposals" in report:  # else there was nothing new
        assistant.advise(report)
    report["model"] = assistant.tally
    return report


def _may_help(vault: MemoryVault, params: JsonObject) -> bool:
    return bool(vault.config.text("llm.base_url")) and not params.get("dry_run")


def compress(vault: MemoryVault, params: JsonObject) -> PlanReport:
    """Sum up old sessions; in the words of the model, if there is one."""
    report: PlanReport
    if not _may_help(vault, params):
        report = vault.ask("compress", **params)
        return report
    assistant = _Assistant(vault)
    report = vault.ask("compress", **params, summaries=assistant.summaries(only_news=False))
    report["model"] = assistant.tally
    return report


class _Assistant:
    """The model during one job, until its first failure."""

    def __init__(self, vault: MemoryVault) -> None:
        self._vault = vault
        self.tally: Tally = {"asked": 0, "summaries": 0, "proposed": 0, "trouble": ""}
        try:
            self._model = plugins.models().open_model(vault.config)
        except LlmError as error:
            self._model = None
            self._give_up(error)

    def _give_up(self, error: VaultmemError) -> None:
        log.info("a model was of no help: %s", error)
        self.tally["trouble"] = self.tally["trouble"] or str(error)

    def summaries(self, *, only_news: bool) -> list[dict[str, str]]:
        """Summaries of as many old sessions as there may be calls, by "id"; "" where their own sentences must do."""
        most = self._vault.config.number("llm.calls")
        sessions = self._vault.ask("old-sessions", limit=most, only_news=only_news)["sessions"]
        self._vault.release()
        return [{"id": one["id"], "text": self._summary(one["texts"])} for one in sessions]

    def _summary(self, texts: list[str]) -> str:
        if self._model is None or self.tally["trouble"] or not texts:
            return ""
        self.tally["asked"] += 1
        try:
            answer = self._model.ask(summaries.remembered_part(texts, TOKENS))
        except LlmError as error:
            self._give_up(error)
            return ""
        text = summaries.summary_text(answer) if isinstance(answer, str) else ""
        self.tally["summaries"] += bool(text)
        return text

    def advise(self, report: PlanReport) -> None:
        """Ask the one question; the report counts the advice among the proposals. What does not fit into it is asked
        by the next dream."""
        if self._model is None or self.tally["trouble"]:
            return
        name = self._vault.config.text("llm.model")
        try:
            doubts = [Doubt(**one) for one in self._vault.ask("doubts")["doubts"]]
            self._vault.release()
            if doubts:
                answers = self._answers(self._model, doubts, name)
                result = self._vault.ask("advise", answers=answers, model=name)
                self.tally["proposed"] = result["proposed"]
                report["proposals"] += result["proposed"]
        except VaultmemError as error:  # the dream itself is done
            self._give_up(error)

    def _answers(self, model: Model, doubts: list[Doubt], name: str) -> list[JsonObject]:
        self.tally["asked"] += 1
        answers = advice.read(model.ask(advice.question(doubts)), doubts)
        if not answers:
            raise LlmError(f"{name} did not answer as it was asked")
        return answers
