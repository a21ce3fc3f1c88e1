"""What is asked of a language model, and what answers: values that plans make and engines carry out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class Message(NamedTuple):
    """One message of a chat."""

    role: str  # system, user, assistant
    content: str


class Question(NamedTuple):
    """One call of a model."""

    purpose: str  # facts, reconcile, summary, ...: for logs and for the budget of calls
    messages: tuple[Message, ...]
    # The JSON Schema of the answer; None: the answer is plain text.
    schema: Mapping[str, object] | None = None
    most_tokens: int = 512  # of the answer


class Model(Protocol):
    """A language model that answers one question at a time. Any thread may ask."""

    def ask(self, question: Question) -> object:
        """The answer: text, or with a schema the JSON value that was read out of what the model said; whether it
        fits the schema is for the caller to see. Raises LlmError when there is none."""
