"""vaultmem add: facts of a conversation, said outright."""

from __future__ import annotations

import sys

from vaultmem import now as clock
from vaultmem.client import is_terminal
from vaultmem.commands.memories import vault_of
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from vaultmem.chat.reconciling import Learned

MOST_READ = 1_048_576  # bytes of stdin
MOST = 200  # facts


def run(args: argparse.Namespace, output: Output) -> int:
    """Write the facts down, and say what became of each."""
    said = _facts(args.text)
    from vaultmem.chat.reconciling import Source, take_in, write_down
    from vaultmem.llm.llm import Budget, open_model

    with vault_of(args, output) as vault:
        conversation = args.conversation or vault.config.text("conversations.id")
        source = Source(conversation.strip(), clock.seconds(), "", args.by, args.dry_run)
        if args.as_is:
            learned = write_down(vault, source, said)
        else:
            model = open_model(vault.config)
            calls = vault.config.number("llm.calls")
            learned = take_in(vault, source, said, Budget(model, calls) if model else None)
    _say(learned, said, output, dry_run=args.dry_run)
    return 0


def _facts(words: list[str]) -> list[str]:
    if not words and is_terminal(sys.stdin):
        raise UsageError("what is to be added? see vaultmem add --help")
    found = [word.strip() for word in words if word != "-"]
    if "-" in words or not words:
        try:
            read = sys.stdin.buffer.read(MOST_READ).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise VaultmemError(
                "what came from stdin is not UTF-8 text; convert it first"
            ) from error
        found += [line.strip() for line in read.splitlines()]
    found = [one for one in found if one]
    if not found:
        raise VaultmemError("there is nothing to add; give some text")
    if len(found) > MOST:
        raise VaultmemError(f"{len(found):,} facts are too many for one go; add {MOST} at a time")
    return found


def _say(learned: Learned, said: list[str], output: Output, *, dry_run: bool) -> None:
    if output.as_json:
        told = learned._asdict()
        del told["turn"]  # there is none
        output.data({**told, "dry_run": dry_run})
        return
    show(learned, output, output.line, dry_run=dry_run)
    if not (learned.added or learned.updated or learned.deleted):
        output.line("known already" if len(said) == 1 else "all of it is known already")


def show(
    learned: Learned, output: Output, say: Callable[[str], None], *, dry_run: bool = False
) -> None:
    """What was learned, a line each; `say` is where to."""
    would = "would be " if dry_run else ""
    for text in learned.added:
        say(f"{would}{output.paint('added', 'green')}: {text}")
    for old, new in learned.updated:
        say(f"{would}{output.paint('updated', 'yellow')}: {old} → {new}")
    for text in learned.deleted:
        say(f"{would}{output.paint('put away', 'red')}: {text}")
    if learned.trouble:
        output.remark(f"vaultmem: by rules, not by the model: {learned.trouble}")
