"""vaultmem dream: think the memories over."""

from __future__ import annotations

from vaultmem.commands.memories import STRAY, show_report, strays
from vaultmem.commands.shared import embed_first, open_vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
level 1  files what is in the inbox, and takes in what you did by hand
level 2  also merges memories that say the same, and links those that name each other
level 3  also sums up old sessions and looks across all of them: contradictions, days that have come to mean another
         day, reminders. For your own notes it only makes proposals; vaultmem review shows them.
Where llm.base_url names a language model, level 3 asks it about memories of which rules cannot tell what they are, and
whether they say the same or contradict each other. It is told texts of memories, without secrets and never of private
ones; what it says becomes proposals, too. With --dry-run nothing is asked.
The agent dreams by itself while the vault is idle, the deeper the longer it is. Everything can be undone."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with open_vault(args, output) as vault:
        if args.level > 1:  # from there on it compares by meaning
            embed_first(vault, output)
        report = vault.dream(args.level, dry_run=args.dry_run, limit=args.limit, by=args.by)
        show_report(report, output)
        if not output.as_json:
            for path in strays(vault):
                output.remark(f"vaultmem: {path} {STRAY}")
    return 0
