"""vaultmem dream: think the memories over."""

from __future__ import annotations

from vaultmem.commands.memories import show_report, writing_options
from vaultmem.commands.shared import embed_first, open_vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
level 1  files what is in the inbox, and takes in what you did by hand
level 2  also merges memories that say the same, and links those that name each other
level 3  also looks across all of them: contradictions, days that have come to mean another day, reminders.
         For your own notes it only makes proposals; vaultmem review shows them.
The agent dreams by itself while the vault is idle, the deeper the longer it is. Everything can be undone."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--level", type=int, choices=(1, 2, 3), default=1, help="how deep (default 1)"
    )
    parser.add_argument("-n", "--limit", type=int, help="how many memories to change at most")
    writing_options(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Dream, or show what a dream would do."""
    with open_vault(args, output) as vault:
        if args.level > 1:  # from there on it compares by meaning
            embed_first(vault, output)
        report = vault.ask(
            "dream", level=args.level, dry_run=args.dry_run, limit=args.limit, by=args.by
        )
    show_report(report, output)
    return 0
