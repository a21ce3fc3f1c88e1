"""vaultmem tag: add tags to a memory, or remove them."""

from __future__ import annotations

from vaultmem.commands.memories import (
    SWITCHES,
    WHICH,
    listed,
    place,
    show_report,
    vault_of,
    writing_options,
)
from vaultmem.commands.parsing import apart
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import UsageError
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("id", metavar="ID", help=WHICH)
    parser.add_argument("tags", nargs="*", metavar="TAG", help="tags to add, with or without #")
    parser.add_argument("--remove", metavar="T1,T2", help="tags to remove")
    writing_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the words."""
    return apart(words, SWITCHES)


def run(args: argparse.Namespace, output: Output) -> int:
    """Change the tags."""
    add = [tag for word in args.tags for tag in listed(word)]
    remove = listed(args.remove)
    if not add and not remove:
        raise UsageError("name a tag to add, or one to --remove; see vaultmem tag --help")
    with vault_of(args, output) as vault:
        report = vault.tag(args.id, *add, remove=remove, by=args.by, dry_run=args.dry_run)
    if args.dry_run:
        show_report(report, output)
    elif output.as_json:
        output.data(report)
    else:
        tags = " ".join(f"#{tag}" for tag in report["tags"]) or "no tags"
        output.line(f"{place(report, output)}: {tags}")
    return 0
