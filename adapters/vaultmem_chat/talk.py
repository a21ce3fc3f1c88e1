"""vaultmem chat and proxy: talk with a model that remembers, at a terminal or from any OpenAI-compatible client."""

from __future__ import annotations

import contextlib
import logging
import queue
import sys
import time
from types import SimpleNamespace as Namespace

from vaultmem.client import is_terminal
from vaultmem.commands.rendering import open_vault
from vaultmem.errors import ConfigError, UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING
from vaultmem_chat.conversation_views import MOST_READ, show_learned

if TYPE_CHECKING:
    from vaultmem_chat.learning.learning import Learned
    from vaultmem_chat.memory_client import MemoryClient

    Messages = list[dict[str, object]]

MOST_MESSAGES = 40  # messages of this chat that are sent; earlier ones are left to memory
LEARNING = 60.0  # seconds to wait for what is learned from a single message
LOOK = 0.2  # seconds between checks whether another process learns from it
BYE = ("/quit", "/exit", "/bye")


def run(args: Namespace, output: Output) -> int:
    """Run the chat."""
    from vaultmem_chat.memory_client import MemoryClient

    words = " ".join(args.text).strip()
    is_sitting = not words and is_terminal(sys.stdin)
    if not words and not is_sitting:
        words = sys.stdin.buffer.read(MOST_READ).decode("utf-8", "replace").strip()
    if not words and not is_sitting:
        raise UsageError("there is nothing to say; give some text")
    with open_vault(args, output) as vault:
        folder = vault.path
        if not (args.upstream or vault.config.text("llm.base_url")):
            form = "--upstream {address} --model {name}"
            args.upstream, args.model = _offered(output, args.model, form)
    learned: queue.SimpleQueue[Learned] = queue.SimpleQueue()
    with MemoryClient(
        folder, base_url=args.upstream or "", model=args.model or "", on_learned=learned.put
    ) as client:
        _check(client)
        talk = _Talk(client, args.conversation, output, learned)
        if not is_sitting:
            talk.once(words)
            return 0
        config = client.vault.config
        about = args.conversation or config.text("conversations.id")
        who = f"{config.text('llm.model')} at {config.text('llm.base_url')}"
        output.remark(f"{who}, conversation {about}; {BYE[0]} ends it")
        talk.sit()
    return 0


def _offered(output: Output, model: str | None, form: str) -> tuple[str | None, str | None]:
    """The address and name of a local model, if the person accepts it."""
    from vaultmem_chat import llm

    def wants(question: str) -> bool:
        output.prompt(question)
        is_wanted = sys.stdin.readline().lower() in ("\n", "y\n", "yes\n")
        if is_wanted:
            output.remark("vaultmem setup puts it into your settings")
        return is_wanted

    can_ask = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    return llm.find_local_model(model, wants if can_ask else None, form)


def _check(client: MemoryClient) -> None:
    """Report a missing model before the person types."""
    config = client.vault.config
    if not config.text("llm.base_url"):
        raise ConfigError(
            "no language model is set: name one with --upstream http://localhost:11434/v1 --model NAME,"
            " or in llm.base_url and llm.model"
        )
    if not config.text("llm.model"):
        raise ConfigError("no model is named; name one with --model, or in llm.model")


class _Talk:
    def __init__(
        self, client: MemoryClient, conversation: str | None, output: Output, learned: queue.SimpleQueue[Learned]
    ) -> None:  # fmt: skip
        self._client, self._conversation, self._output = client, conversation, output
        self._learned = learned
        self._turns: set[str] = set()  # turns of this chat: the queue may hold others
        self._messages: Messages = []

    def once(self, words: str) -> None:
        """Send one message, and print what was learned from it."""
        if not self._output.as_json:
            self._say(words)
            if (learned := self._wait()) is not None:
                self._show(learned)
            return
        reply = self._client.chat(words, conversation=self._conversation)
        recalled, learned = self._client.context.text, self._wait()
        facts = None if learned is None else learned._asdict()
        self._output.data({**reply, "recalled": recalled, "learned": facts})

    def sit(self) -> None:
        """Chat until the person ends it: Ctrl-C at once, otherwise after learning from the last message."""
        # Enables line editing, if available.
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - its import does it
        with contextlib.suppress(KeyboardInterrupt):
            with contextlib.suppress(EOFError):
                self._converse()
            self._output.aside("")
            if self._client.is_waiting(self._client.turn) and (learned := self._wait()):
                self._show(learned)
            self._show_learned()

    def _converse(self) -> None:
        while True:
            self._output.prompt(self._output.paint("you> ", "bold"))
            words = input().strip()
            if words.lower() in BYE:
                return
            if words.startswith("/"):
                self._output.remark(f"{BYE[0]} ends it; there are no other commands")
            elif words:
                try:
                    self._say(words)
                except VaultmemError as error:
                    self._output.error(str(error))
                self._show_learned()

    def _say(self, words: str) -> None:
        messages: Messages = [*self._messages[-MOST_MESSAGES:], {"role": "user", "content": words}]
        pieces: list[str] = []
        try:
            for piece in self._client.stream(messages, conversation=self._conversation):
                for line in () if pieces else self._client.context.lines:
                    if not line.startswith(
                        " "
                    ):  # the first line of each memory; a note may have a page of them
                        self._output.aside(self._output.paint(f"recalled: {line}", "dim"))
                pieces.append(piece)
                self._output.exact(piece)
                self._output.flush()
        finally:  # also after an error, so that the next line begins at its start
            self._turns.add(self._client.turn)
            if pieces:
                self._output.exact("\n")
        self._messages = [*messages, {"role": "assistant", "content": "".join(pieces)}]

    def _wait(self) -> Learned | None:
        """What was learned from the last turn; None if it is not known yet, or only to another process."""
        turn, until = self._client.turn, time.monotonic() + LEARNING
        while turn and time.monotonic() < until:
            is_waiting = self._client.is_waiting(turn)
            with contextlib.suppress(queue.Empty):
                while True:
                    learned = self._learned.get(timeout=LOOK if is_waiting else 0.0)
                    if learned.turn == turn:
                        return learned
                    self._show_own(learned)
            if not is_waiting:
                break
        if turn:
            self._output.remark(
                "what can be learned from this is learned later, or by another process;"
                " vaultmem conversations shows it"
            )
        return None

    def _show_learned(self) -> None:
        """Print what was learned so far from the turns of this chat."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._show_own(self._learned.get_nowait())

    def _show_own(self, learned: Learned) -> None:
        if learned.turn in self._turns:
            self._show(learned)

    def _show(self, learned: Learned) -> None:
        show_learned(learned, self._output, self._output.aside)


# --- proxy


def proxy(args: Namespace, output: Output) -> int:
    """Serve chats to OpenAI-compatible clients."""
    from vaultmem.settings import OFF, SETTINGS
    from vaultmem_chat import memory_context
    from vaultmem_chat.proxy.proxy import Overrides, Proxy, in_force
    from vaultmem_server import guard, serving

    most = SETTINGS["proxy.port"].most
    if args.port is not None and not 0 <= args.port <= most:
        raise UsageError(f"--port must be from 0 to {most}")
    with open_vault(args, output) as vault:
        folder = vault.path
        if not (args.upstream or vault.config.text("llm.base_url")):
            args.upstream, _ = _offered(output, None, "--upstream {address}")
        overrides = Overrides(args.host, args.port, args.upstream, args.conversation, args.notes)
        config = in_force(folder, overrides)
    host = config.text("proxy.host")
    port = config.number("proxy.port") if args.port is None else args.port
    listening = serving.listen(host, port)
    _log(quiet=args.quiet)
    if not guard.is_loopback(host) and config.text("proxy.key") == OFF:
        output.remark(
            f"warning: anybody who can reach {host} can chat with your memories; require a key with proxy.key"
        )
    try:
        server = Proxy(folder, config, listening)
    except VaultmemError:
        listening.close()
        raise
    if config.text("proxy.notes") == "auto" and not memory_context.includes_notes(config):
        output.remark(
            "the upstream is not on this machine, so your notes stay here; with --notes it is told of them"
        )
    address = "127.0.0.1" if host in guard.WILDCARDS else f"[{host}]" if ":" in host else host
    output.remark(
        f"listening, passing on to {config.text('llm.base_url')}; use it with "
        f"OPENAI_BASE_URL=http://{address}:{server.port}/v1"
    )
    server.serve()
    return 0


def _log(*, quiet: bool) -> None:
    """Log to stderr; no line holds text of a conversation."""
    from vaultmem.service import log

    logger = logging.getLogger("vaultmem")
    logger.addHandler(log.Stderr())
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
