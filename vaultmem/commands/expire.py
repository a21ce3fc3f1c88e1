"""vaultmem expire: archive memories that end, or stayed in the inbox too long."""

from __future__ import annotations

from vaultmem.commands.memories import limit_option, run_job, vault_of
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Memories whose expires_at is over, and those that waited in the inbox longer than memories.inbox_ttl (7d).
The agent does this by itself every hour."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    limit_option(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with vault_of(args, output) as vault:
        return run_job(args, output, "expire", vault)
