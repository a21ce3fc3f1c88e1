"""The whole proxy: starts and stops its parts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from vaultmem import config as settings
from vaultmem import credentials
from vaultmem import now as clock
from vaultmem.adapter.services import Model
from vaultmem.api import Vault
from vaultmem.config import Config
from vaultmem.errors import ConfigError, LlmError, UsageError, VaultmemError
from vaultmem.memories.conversation import TURNS, USER
from vaultmem.text import urls
from vaultmem.text.times import seconds
from vaultmem.text.values import plural
from vaultmem_chat.learning.learning import Learned
from vaultmem_chat.learning.turn_queue import OPEN_FOR, ChatCounts
from vaultmem_chat.learning.worker import Worker, service_of
from vaultmem_chat.llm.llm import open_model
from vaultmem_chat.memory_context import limits_of
from vaultmem_chat.proxy import proxy_app
from vaultmem_chat.proxy.chat_memory import ChatTurns, Learners, RecallPool
from vaultmem_chat.proxy.chats import FORMS, Chats, Parts
from vaultmem_chat.proxy.upstream import Upstream
from vaultmem_server import serving
from vaultmem_server.guard import Guard, is_loopback

log = logging.getLogger("vaultmem.proxy")

_OPTIONS = {
    "llm.base_url": "--upstream", "proxy.host": "--host", "conversations.id": "--conversation",
    "proxy.port": "--port",
}  # fmt: skip
FEW = 200  # blocks embedded between two turns
AT_ONCE = 40  # turns after which the index is updated even while more are waiting
LAST_TURN = 5.0  # seconds for the worker's current turn at the end


class Overrides(NamedTuple):
    """Options of the command line; None to use the setting."""

    host: str | None = None
    port: int | None = None
    upstream: str | None = None
    conversation: str | None = None
    notes: bool | None = None


def in_force(folder: str, overrides: Overrides, environ: Mapping[str, str] = os.environ) -> Config:
    """The settings with the overrides of the command line. Raises ConfigError and UsageError."""
    changes = {
        "proxy.host": overrides.host, "proxy.port": str(overrides.port) if overrides.port else None,
        "llm.base_url": overrides.upstream, "conversations.id": overrides.conversation,
        "proxy.notes": None if overrides.notes is None else "on" if overrides.notes else "off",
    }  # fmt: skip
    config = settings.load(folder, environ)
    if overrides.host is None and not is_loopback(config.text("proxy.host")):
        host = config.text("proxy.host")
        raise ConfigError(
            f"proxy.host is {host}, where others can reach your memories; confirm with --host {host}"
        )
    if overrides.upstream and not urls.is_same_server(
        overrides.upstream, config.text("llm.base_url")
    ):
        # They belong to another service: each turn is learned from with the model and key of its request.
        changes |= {"llm.key": credentials.OFF, "llm.model": ""}
    variables = {settings.variable(key): text for key, text in changes.items() if text is not None}
    try:
        config = settings.load(folder, {**environ, **variables})
    except ConfigError as error:
        message = str(error)  # because it concerns the command line
        for key, option in _OPTIONS.items():
            named = f"the environment variable {settings.variable(key)}: {key}"
            message = message.replace(named, option)
        raise UsageError(message) from error
    if not config.text("llm.base_url"):
        raise ConfigError(
            "no upstream is set: name one with --upstream http://localhost:11434/v1, or in llm.base_url"
        )
    return config


class Chatting:
    """Everything that serves the chats of one vault, behind any server."""

    def __init__(self, folder: str, config: Config) -> None:
        self._folder, self._config = folder, config
        key = own_key(config)
        self.upstream = Upstream(config.text("llm.base_url"), key)
        self._learners = Learners(self._model, has_own=key is not None)
        self._learning = self._vault()
        self._unindexed = 0  # turns learned since the last update of the index
        patience = config.seconds("proxy.patience")
        self._memory = RecallPool(self._vault, limits_of(config), patience)
        self._worker = Worker(
            self._learning, self._learners.model, self._on_learned, self._memory.is_busy
        )
        self._turns = ChatTurns(
            self._worker.turns, self._worker.nudge, self._last_words, service_of(config)
        )
        self._parts = Parts(
            self.upstream, self._memory, self._turns, self._learners,
            ChatCounts(self._learning.state.folder), config.text("proxy.place"),
            config.text("conversations.id"),
        )  # fmt: skip

    def chats(self, client: str = "", holder: str = "") -> list[Chats]:
        """The chats of all APIs, for all clients or for a single one."""
        parts = self._parts._replace(client=client, holder=holder)
        return [Chats(parts, form) for form in FORMS]

    def _vault(self) -> Vault:
        vault = Vault(self._folder)
        vault.config = self._config
        return vault

    def _model(self, key: credentials.Key | None, name: str) -> Model | None:
        """The model for learning: the settings take precedence over the client's model; its key is only sent to its
        upstream."""
        is_set = self._config.text("llm.model")
        return open_model(self._config, key=key, model="" if is_set else name)

    def _last_words(self, conversation: str) -> tuple[str, str]:
        """The user's newest words in the notes of a conversation, and their id; empty if no answer is expected any
        more. Opens the vault, as any thread may call it."""
        try:
            with self._vault() as vault:
                turns = vault.entries(conversation, kinds=[TURNS])
        except VaultmemError as error:
            log.warning("earlier turns are not known: %s", error)
            return "", ""
        last = next((turn for turn in reversed(turns) if turn["role"] == USER), None)
        if last is None or clock.seconds() - (seconds(last["created_at"]) or 0.0) > OPEN_FOR:
            return "", ""
        return last["content"].strip(), last["id"]

    @contextlib.asynccontextmanager
    async def running(self, _: object = None) -> AsyncIterator[None]:
        """Run the worker during the block. The first request waits for the warm-up instead of going without
        memory."""
        self._worker.start()
        await asyncio.to_thread(self._memory.warm_up)
        try:
            yield
        finally:
            await self.upstream.close()
            await asyncio.to_thread(self._memory.close)
            await asyncio.to_thread(self._worker.stop, LAST_TURN)
            self._learning.close()

    def _on_learned(self, learned: Learned) -> None:
        """Log what was learned, and update the index if no agent does: the next question may be about it."""
        self._learners.end(learned.turn)
        counts = [
            plural(len(learned.added), "new fact"), f"{len(learned.updated)} replaced",
            f"{len(learned.deleted)} taken back",
        ]  # fmt: skip
        how, many = "the model" if learned.by_model else "rules", ", ".join(counts)
        log.info("learned by %s in conversation %r: %s", how, learned.conversation, many)
        if learned.trouble:
            log.warning("learned without the model: %s", learned.trouble)
        self._unindexed += 1
        if self._worker.turns.count() and self._unindexed < AT_ONCE:
            return
        self._unindexed = 0
        try:
            self._index()
        except VaultmemError as error:
            log.warning("what was learned is not in the index yet: %s", error)

    def _index(self) -> None:
        with self._vault() as vault:
            if vault.agent() is not None:
                return
            vault.sync()
            done, total, _ = vault.embedded()
            if total - done <= FEW:  # a whole vault takes minutes, in which nothing is learned
                vault.embed()


class Proxy(Chatting):
    """A server for the chats of one vault. `listening` is a bound socket."""

    def __init__(self, folder: str, config: Config, listening: socket.socket) -> None:
        super().__init__(folder, config)
        self.host, self.port = config.text("proxy.host"), int(listening.getsockname()[1])
        self._listening = listening
        guard = Guard(self.host, self.port, credentials.client_key(config.text("proxy.key")))
        waiting = self._worker.turns.count
        built = proxy_app.build(self.chats(), self.upstream, guard, waiting, self.running)
        self.server = serving.server(built)

    def serve(self) -> None:
        """Serve until a signal."""
        asyncio.run(self.server.serve(sockets=[self._listening]))


def own_key(config: Config) -> credentials.Key | None:
    """Our key for the upstream, if there is one. A missing key is only logged: clients have their own."""
    address = urls.endpoint(config.text("llm.base_url"))
    try:
        return credentials.find(config.text("llm.key"), address)
    except LlmError as error:
        log.warning("requests go on without a key of ours: %s", error)
        return None
