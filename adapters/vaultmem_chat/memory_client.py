"""Chat with a model that remembers, from Python.

from vaultmem import MemoryClient

with MemoryClient("~/notes", base_url="http://localhost:11434/v1", model="qwen3:4b") as client:
    reply = client.chat("My wife is Anne, and I love hiking.")
    client.learn()
    print(client.search("what does the user love?"))
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from vaultmem import config as settings
from vaultmem import now as clock
from vaultmem.adapter import JsonObject
from vaultmem.adapter.services import Model
from vaultmem.api import Vault
from vaultmem.credentials import OFF, Key
from vaultmem.errors import ConfigError, LlmError, UsageError, VaultmemError
from vaultmem.recall.recall_text import Recalled
from vaultmem.text import urls
from vaultmem.text.titles import conversation_problem
from vaultmem.text.values import json_object
from vaultmem_chat import bodies, memory_context
from vaultmem_chat.learning.learning import Learned, Source, take_in
from vaultmem_chat.learning.turn_queue import SERVICE, Item
from vaultmem_chat.learning.worker import Worker, service_of
from vaultmem_chat.llm.llm import open_model, streamed_chat, whole_chat, within_budget
from vaultmem_chat.llm.replies import Answer
from vaultmem_chat.memory_context import Context

log = logging.getLogger("vaultmem.conversations")

CLOSING = 30.0  # seconds for the current turn of the worker on closing
Messages = str | Sequence[JsonObject]


def _settings(folder: str, base_url: str, model: str) -> settings.Config:
    set_up = settings.load(folder).text("llm.base_url")
    changes = {
        key: text for key, text in (("llm.base_url", base_url), ("llm.model", model)) if text
    }
    if base_url and set_up and not urls.is_same_server(base_url, set_up):
        changes = {"llm.key": OFF, "llm.model": "", **changes}
    try:
        return settings.load(
            folder,
            {**os.environ, **{settings.variable(key): text for key, text in changes.items()}},
        )
    except ConfigError as error:
        named = f"the environment variable {settings.variable('llm.base_url')}: llm."
        raise ConfigError(str(error).replace(named, "")) from error


class MemoryClient:
    """Chats with a model through a vault: relevant memories are recalled for the model, turns are stored as notes,
    and facts are learned from them in the background.

    `vault` is as in Vault. `base_url`, `model` and `api_key` override llm.base_url, llm.model and llm.key; a service
    other than llm.base_url gets neither its key nor the name of its model. A model on this machine also gets notes
    (proxy.notes). `on_learned` is called in another thread with the result for each turn. Use it as a context manager,
    or call close(). Raises VaultmemError with a message of one line.
    """

    def __init__(
        self, vault: str | None = None, *, base_url: str = "", model: str = "",
        api_key: str | None = None, on_learned: Callable[[Learned], None] | None = None,
    ) -> None:  # fmt: skip
        self.vault = Vault(vault)
        self.vault.config = _settings(self.vault.path, base_url, model)
        if not self.vault.is_indexed():
            self.vault.sync()
        self.context = Context("", 0)  # the messages that the model received last
        self.turn = ""  # the id of the last turn, as in Learned
        self._key = None if api_key is None else Key(api_key)
        self._worker = Worker(self.vault, self._model, on_learned or bool)
        self._learned = 0  # turns learned at the last call of learn()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, patience: float = CLOSING) -> None:
        """Close the vault after the worker's current turn, waiting at most `patience` seconds."""
        self._worker.stop(patience)
        self.vault.close()

    def chat(
        self, messages: Messages, *, conversation: str | None = None, model: str = "", **options: object
    ) -> dict[str, Any]:  # fmt: skip
        """Ask the model. Returns the service's answer as a dict, unchanged. `messages` is the user's text, or a list
        of messages in the format of the service; `options` are added to the request."""
        with self._turn(messages, conversation, model, options) as (body, answer):
            whole = whole_chat(self.vault.config, body, answer, self._key)
        if result := json_object(whole):
            return result
        raise LlmError("the service did not answer in JSON; look at llm.base_url")

    def stream(
        self, messages: Messages, *, conversation: str | None = None, model: str = "", **options: object
    ) -> Iterator[str]:  # fmt: skip
        """Like chat(), but yields the answer's text as it arrives."""
        with self._turn(messages, conversation, model, options, is_stream=True) as (body, answer):
            yield from streamed_chat(self.vault.config, body, answer, self._key)

    def search(
        self, query: str, *, conversation: str | None = None, top_k: int | None = None
    ) -> list[Recalled]:
        """The memories relevant to a question: records as from `Vault.recall`, best first."""
        notes = self.vault.config.text("proxy.notes") != "off"  # nothing leaves this machine
        limits = memory_context.limits_of(self.vault.config)._replace(notes=notes)
        recall_limits = limits if top_k is None else limits._replace(top_k=top_k)
        return memory_context.recall(
            self.vault, self._conversation_id(conversation), query, recall_limits
        )

    def add(
        self, facts: str | Iterable[str], *, conversation: str | None = None, by: str | None = None
    ) -> dict[str, Any]:
        """Add facts, reconciled with the known ones of the conversation. Returns the texts "added", "updated" and
        "deleted"."""
        texts = _facts(facts)
        source = Source(self._conversation_id(conversation), clock.seconds(), by=by)
        model = within_budget(self.vault.config, self._model(None))
        return take_in(self.vault, source, texts, model)._asdict()

    def learn(self) -> int:
        """Learn from all turns in the queue, or wait until that is done. Returns the number of turns learned from
        since the last call."""
        self._worker.work_once(wait=True)
        before, self._learned = self._learned, self._worker.remembered
        return self._learned - before

    def is_waiting(self, turn: str) -> bool:
        """Whether a turn, by its id, is still in the queue."""
        # In this order: a turn that has left the queue is reported before the worker continues.
        return self._worker.turns.holds(turn) or self._worker.current == turn

    @contextmanager
    def _turn(
        self, messages: Messages, conversation: str | None, model: str, options: JsonObject,
        *, is_stream: bool = False,
    ) -> Iterator[tuple[bytes, Answer]]:  # fmt: skip
        """One turn. Gives the request with memories, after the user's words were stored, and the answer to fill,
        which is stored if it is complete."""
        if "stream" in options:
            what = "chat() gives the whole answer, stream() its words"
            raise UsageError(f"{what}; neither takes stream=")
        listed = _check_messages(messages)
        name = model or self._set_model()
        body_options = {**options, **({"stream": True} if is_stream else {})}
        try:
            body = json.dumps({"model": name, "messages": listed, **body_options}).encode()
        except (TypeError, ValueError) as error:
            raise UsageError(f"the request cannot be written as JSON: {error}") from error
        body, item = self._begin(self._conversation_id(conversation), body)
        turns, answer = self._worker.turns, Answer()
        try:
            yield body, answer
            if item and answer.is_complete and not answer.is_declined and answer.text.strip():
                turns.finish(item, answer.text, clock.seconds())
                item = None
        finally:
            if item:  # the user's words stay
                turns.close(item, clock.seconds())
            self._worker.start()
            self._worker.nudge()

    def _begin(self, conversation: str, body: bytes) -> tuple[bytes, Item | None]:
        """Recall, and store the user's words. Returns the request with the memories. One without words of the user is
        not changed."""
        self.context, self.turn = Context("", 0), ""
        chat, config = bodies.read(body), self.vault.config
        if chat is None or not chat.is_turn or not chat.question.strip():
            return body, None
        limits = memory_context.limits_of(config)
        try:
            self.context = memory_context.context_for(
                self.vault, conversation, chat.question, chat.earlier, limits
            )
        except VaultmemError as error:  # a failing memory does not stop the chat
            log.warning("asked without memory: %s", error)
        if self.context.text:
            body = bodies.with_memory(body, chat, config.text("proxy.place"), self.context.text)
        meta = {"model": chat.model, SERVICE: service_of(config)}
        item = self._worker.turns.begin(conversation, chat.question, clock.seconds(), meta=meta)
        self.turn = item.id
        return body, item

    def _set_model(self) -> str:
        """The model of the settings. Raises UsageError that says all that is missing."""
        name = self.vault.config.text("llm.model")
        if name:
            return name
        if self.vault.config.text("llm.base_url"):
            raise UsageError("no model is named; give one as model, or set llm.model")
        raise UsageError(
            "no language model is set: give its service as base_url, such as http://localhost:11434/v1, and its name as"
            " model, or set llm.base_url and llm.model"
        )

    def _conversation_id(self, conversation: str | None) -> str:
        name = conversation or self.vault.config.text("conversations.id")
        if not isinstance(name, str):
            raise UsageError("the id of the conversation must be text")
        id_ = name.strip()
        if why := conversation_problem(id_):
            raise UsageError(f"the id of the conversation {why}")
        return id_

    def _model(self, _: Item | None) -> Model | None:
        return open_model(self.vault.config, key=self._key)


def _check_messages(messages: Messages) -> list[JsonObject]:
    """The messages in the format of the service. Raises UsageError."""
    listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    is_list = isinstance(listed, (list, tuple))
    if not is_list or not all(isinstance(message, Mapping) for message in listed):
        raise UsageError("messages must be text, or a list of messages with a role and content")
    if not listed or (isinstance(messages, str) and not messages.strip()):
        raise UsageError("there is nothing to say; give some text")
    return [*listed]


def _facts(facts: str | Iterable[str]) -> list[str]:
    """The facts as a list. Raises UsageError."""
    wrong = "facts must be text, or a list of texts"
    if isinstance(facts, (bytes, Mapping)) or not isinstance(facts, Iterable):
        raise UsageError(wrong)
    texts = [facts] if isinstance(facts, str) else list(facts)
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(wrong)
    return texts
