"""vaultmem compress: sum up old sessions."""

from __future__ import annotations

from vaultmem.commands.memories import show_report, vault_of
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Memories of what happened in a session (with a session_id) are summed up when there are more sessions than
conversations.compress_after (20), the oldest first, half of them. The summary is a new memory of the same scope, writer
and source, with links to the originals. These are kept and marked; recall, search and list show them with
--include-compressed. A deep dream does this by itself.

The language model that llm.base_url names writes the summary, else it is made of the sentences that say most. The
model is told texts without secrets, and never private memories. With --dry-run it is not asked."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with vault_of(args, output) as vault:
        show_report(vault.compress(dry_run=args.dry_run, limit=args.limit, by=args.by), output)
    return 0
