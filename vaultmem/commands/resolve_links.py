"""vaultmem resolve-links: link memories where one names another in its text."""

from __future__ import annotations

from vaultmem.commands.memories import limit_option, run_job, vault_of
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
A [[wikilink]] in the text of a memory that leads to another memory becomes an entry of the property links
of both. Entries that lead to a replaced memory are led on, and those that lead nowhere are removed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    limit_option(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with vault_of(args, output) as vault:
        return run_job(args, output, "resolve-links", vault)
