"""vaultmem read (and get): show one memory."""

from __future__ import annotations

from vaultmem.commands.memories import SWITCHES, memory_option, named, vault_of
from vaultmem.commands.parsing import apart
from vaultmem.commands.shared import viewer_option
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output, table

if TYPE_CHECKING:
    import argparse

    from vaultmem.core.memory import MemoryRecord

EPILOG = """\
Being read counts: what is read often is filed and kept, and comes first. To look without being counted,
open the note in your editor, or use vaultmem list."""
_ROWS = ("id", "path", "category", "scope", "tags", "source", "agent", "personality", "project", "type",
         "memory_type", "importance", "links", "created_at", "updated_at", "last_reinforced_at",
         "expires_at")  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    memory_option(parser)
    viewer_option(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the words."""
    return apart(words, SWITCHES)


def run(args: argparse.Namespace, output: Output) -> int:
    """Show the memory with all that is known of it."""
    given = named(args.id, "read")
    with vault_of(args, output) as vault:
        memory = vault.read(given, by=args.by)
    if output.as_json:
        output.data(memory)
        return 0
    output.line(output.paint(memory["title"], "bold"))
    for row in table(_rows(memory)):
        output.line(output.paint(row, "dim"))
    output.line()
    output.text(memory["content"].removesuffix("\n") + "\n")
    return 0


def _rows(memory: MemoryRecord) -> list[tuple[str, str]]:
    rows = []
    for name in _ROWS:
        value = memory.get(name)
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if shown not in (None, ""):
            rows.append((name, str(shown)))
    confidence = f"{memory['confidence']:.2f} ({memory['decay_policy']})"
    return [*rows, ("confidence", confidence), ("read", f"{memory['access_count']:,} ×")]
