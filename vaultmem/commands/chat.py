"""vaultmem chat: talk with a model that remembers, and see what it recalls and learns."""

from __future__ import annotations

import contextlib
import queue
import sys

from vaultmem.client import is_terminal
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

    from vaultmem.conversations.client import MemoryClient
    from vaultmem.conversations.reconciling import Learned

    Said = list[dict[str, object]]

MOST_READ = 1_048_576  # bytes of stdin
REMEMBERED = 40  # messages of this sitting that go along; what came before is for the memory
LEARNING = 60.0  # seconds that one message waits for what is learned from it
BYE = ("/quit", "/exit", "/bye")
EPILOG = """\
Needs a language model: llm.base_url and llm.model, or --upstream and --model. With TEXT, or with something on stdin,
one message is sent and its answer printed. On a terminal it is a conversation: /quit, Ctrl-D or Ctrl-C ends it.
What is recalled is shown before the answer, what was learned after it; both go to stderr. Turns, facts and summaries
are notes in the folder entries/ of the memory folder; vaultmem conversations shows them.

examples:
  vaultmem chat --upstream http://localhost:11434/v1 --model qwen3:4b
  vaultmem chat --conversation work "What did we decide about the boiler?\""""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="one message, instead of a sitting")
    parser.add_argument(
        "--conversation", metavar="ID", help="which one (default: conversations.id)"
    )
    parser.add_argument("--model", help="the model to ask (default: llm.model)")
    parser.add_argument("--upstream", metavar="URL", help="who answers (default: llm.base_url)")


def run(args: argparse.Namespace, output: Output) -> int:
    """Talk."""
    from vaultmem.commands.shared import open_vault
    from vaultmem.conversations.client import MemoryClient

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
        talk = _Talk(client, args.conversation, output, learned)
        if sits:
            talk.sit()
        else:
            talk.once(words)
    return 0


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
        self._messages: Said = []

    def once(self, words: str) -> None:
        """One message, and what was learned from it."""
        if self._output.as_json:
            reply = self._client.chat(words, conversation=self._conversation)
            found: dict[str, object] = {"recalled": self._client.told.text, "learned": None}
            with contextlib.suppress(queue.Empty):
                found["learned"] = self._learned.get(timeout=LEARNING)._asdict()
            self._output.data({**reply, **found})
            return
        self._say(words)
        with contextlib.suppress(queue.Empty):
            self._show(self._learned.get(timeout=LEARNING))

    def sit(self) -> None:
        """Message after message."""
        with contextlib.suppress(
            ImportError
        ):  # edits the line that is typed, where the system has it
            import readline  # noqa: F401 - its import does it
        with contextlib.suppress(EOFError, KeyboardInterrupt):
            while True:
                self._output.prompt(self._output.paint("you> ", "bold"))
                words = input().strip()
                if words.lower() in BYE:
                    return
                if not words:
                    continue
                try:
                    self._say(words)
                except VaultmemError as error:
                    self._output.error(str(error))
                while not self._learned.empty():
                    self._show(self._learned.get())
        self._output.remark("")

    def _say(self, words: str) -> None:
        asked: Said = [*self._messages[-REMEMBERED:], {"role": "user", "content": words}]
        said: list[str] = []
        for piece in self._client.stream(asked, conversation=self._conversation):
            if not said:
                self._show_recalled()
            said.append(piece)
            self._output.text(piece)
            self._output.flush()
        self._output.line()
        self._messages = [*asked, {"role": "assistant", "content": "".join(said)}]

    def _show_recalled(self) -> None:
        for line in self._client.told.text.splitlines()[2:-1]:  # without what stands around them
            self._output.remark(self._output.paint(f"recalled  {line}", "dim"))

    def _show(self, learned: Learned) -> None:
        paint = self._output.paint
        for text in learned.added:
            self._output.remark(f"{paint('learned', 'green')}   {text}")
        for old, new in learned.updated:
            self._output.remark(f"{paint('updated', 'yellow')}   {old} → {new}")
        for text in learned.deleted:
            self._output.remark(f"{paint('put away', 'red')}  {text}")
        if learned.trouble:
            self._output.remark(f"vaultmem: by rules, not by the model: {learned.trouble}")
