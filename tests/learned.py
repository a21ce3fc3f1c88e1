"""A vault that learns from turns, and a model that follows a script."""

import itertools
import json
import time

from vaultmem import Vault
from vaultmem.adapter.services import Question
from vaultmem.errors import LlmError
from vaultmem.memories.conversation import derived_id
from vaultmem_chat.learning.turn_queue import Item
from vaultmem_chat.learning.worker import Worker

AT = 1_795_000_000.0


class Scripted:
    """A model that replays answers by the purpose of the question, and records the questions."""

    def __init__(self, **answers: object) -> None:
        self.answers = answers
        self.asked: list[Question] = []

    def ask(self, question: Question) -> object:
        self.asked.append(question)
        answer = self.answers.get(question.purpose, LlmError(f"no {question.purpose}"))
        if isinstance(answer, Exception):
            raise answer
        return answer(question) if callable(answer) else answer

    def words(self) -> str:
        """Everything that it was sent."""
        return json.dumps([[m.content for m in q.messages] for q in self.asked], ensure_ascii=False)


def item(
    user: str, assistant: str | None = "I see.", *, id_: str = "item", at: float = AT, conversation: str = "c"
) -> Item:  # fmt: skip
    return Item(id_, conversation, user, assistant, at, at + 2.5, "gpt-x", derived_id(id_, "user"))


def facts(vault: Vault, conversation: str = "c") -> list[str]:
    return sorted(entry["content"] for entry in vault.entries(conversation, ["facts"]))


def turns(vault: Vault) -> list[tuple[str, str]]:
    return [(entry["role"], entry["content"]) for entry in vault.entries("c", ["turns"])]


def said(vault: Vault, conversation: str = "c") -> list[str]:
    return [entry["content"] for entry in vault.entries(conversation, ["turns"])]


SECONDS = (time.time() - 300 + number for number in itertools.count())


def speak(worker: Worker, user: str, assistant: str = "ok", conversation: str = "c") -> None:
    """One whole turn in the queue; each takes a second."""
    turn = worker.turns.begin(conversation, user, next(SECONDS))
    worker.turns.finish(turn, assistant, next(SECONDS))
