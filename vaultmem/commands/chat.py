"""vaultmem chat: talk with a model that remembers, and see what it recalls and learns."""

from __future__ import annotations

import contextlib
import queue
import sys
import time

from vaultmem.client import is_terminal
from vaultmem.commands.add import show
from vaultmem.errors import ConfigError, UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from vaultmem.chat.client import MemoryClient
    from vaultmem.chat.reconciling import Learned

    Said = list[dict[str, object]]

MOST_READ = 1_048_576  # bytes of stdin
REMEMBERED = 40  # messages of this sitting that go along; what came before is for the memory
LEARNING = 60.0  # seconds that one message waits for what is learned from it
LOOK = 0.2  # seconds after which it is looked at whether another process does that
BYE = ("/quit", "/exit", "/bye")


def run(args: argparse.Namespace, output: Output) -> int:
    """Talk."""
    from vaultmem.chat.client import MemoryClient
    from vaultmem.commands.shared import open_vault

    words = " ".join(args.text).strip()
    sits = not words and is_terminal(sys.stdin)
    if not words and not sits:
        words = sys.stdin.buffer.read(MOST_READ).decode("utf-8", "replace").strip()
    if not words and not sits:
        raise UsageError("there is nothing to say; give some text")
    with open_vault(args, output) as vault:
        folder = vault.path
    learned: queue.SimpleQueue[Learned] = queue.SimpleQueue()
    with MemoryClient(
        folder, base_url=args.upstream or "", model=args.model or "", on_learned=learned.put
    ) as client:
        _check(client)
        talk = _Talk(client, args.conversation, output, learned)
        if sits:
            config = client.vault.config
            about = args.conversation or config.text("conversations.id")
            output.remark(
                f"vaultmem: {config.text('llm.model')} at {config.text('llm.base_url')}, "
                f"conversation {about}; {BYE[0]} ends it"
            )
            talk.sit()
        else:
            talk.once(words)
    return 0


def _check(client: MemoryClient) -> None:
    """Whether there is somebody to talk with; it is said before anybody has typed."""
    config = client.vault.config
    if not config.text("llm.base_url"):
        raise ConfigError(
            "no language model is set: name one with --upstream http://localhost:11434/v1 --model NAME,"
            " or in llm.base_url and llm.model"
        )
    if not config.text("llm.model"):
        raise ConfigError("no model is named; name one with --model, or in llm.model")


class _Talk:
    """One sitting."""

    def __init__(
        self,
        client: MemoryClient,
        conversation: str | None,
        output: Output,
        learned: queue.SimpleQueue[Learned],
    ) -> None:
        self._client, self._conversation, self._output = client, conversation, output
        self._learned = learned
        self._turns: set[str] = set()  # of this sitting: the queue may hold those of others
        self._messages: Said = []

    def once(self, words: str) -> None:
        """One message, and what was learned from it."""
        if self._output.as_json:
            reply = self._client.chat(words, conversation=self._conversation)
            told, learned = self._client.context.text, self._awaited()
            self._output.data({
                **reply, "recalled": told, "learned": None if learned is None else learned._asdict(),
            })  # fmt: skip
            return
        self._say(words)
        learned = self._awaited()
        if learned is not None:
            self._show(learned)

    def _awaited(self) -> Learned | None:
        """What was learned from the last turn; None where that is not known yet, or known to another process."""
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
                "vaultmem: what can be learned from this is learned later, or by another process;"
                " vaultmem conversations shows it"
            )
        return None

    def sit(self) -> None:
        """Message after message. Ctrl-C ends it at once; else what was said last is learned from first."""
        # Edits the line that is typed, where the system has it.
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - its import does it
        with contextlib.suppress(KeyboardInterrupt):
            with contextlib.suppress(EOFError):
                self._go_on()
            self._output.remark("")
            if self._client.is_waiting(self._client.turn) and (learned := self._awaited()):
                self._show(learned)
            self._show_learned()

    def _go_on(self) -> None:
        """Until it is left."""
        while True:
            self._output.prompt(self._output.paint("you> ", "bold"))
            words = input().strip()
            if words.lower() in BYE:
                return
            if not words:
                continue
            if words.startswith("/"):
                self._output.remark(f"vaultmem: {BYE[0]} ends it; there are no other commands")
                continue
            try:
                self._say(words)
            except VaultmemError as error:
                self._output.error(str(error))
            self._show_learned()

    def _say(self, words: str) -> None:
        asked: Said = [*self._messages[-REMEMBERED:], {"role": "user", "content": words}]
        said: list[str] = []
        try:
            for piece in self._client.stream(asked, conversation=self._conversation):
                if not said:
                    self._show_recalled()
                said.append(piece)
                self._output.text(piece)
                self._output.flush()
        finally:  # whatever broke it off, the next line is a line of its own
            self._turns.add(self._client.turn)
            if said:
                self._output.line()
        self._messages = [*asked, {"role": "assistant", "content": "".join(said)}]

    def _show_recalled(self) -> None:
        for line in self._client.context.lines:
            self._output.remark(self._output.paint(f"recalled: {line}", "dim"))

    def _show_learned(self) -> None:
        """What is known by now of the turns of this sitting."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._show_own(self._learned.get_nowait())

    def _show_own(self, learned: Learned) -> None:
        if learned.turn in self._turns:
            self._show(learned)

    def _show(self, learned: Learned) -> None:
        show(learned, self._output, self._output.remark)
