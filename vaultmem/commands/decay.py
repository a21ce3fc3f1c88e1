"""vaultmem decay: archive memories that have faded and were never read."""

from __future__ import annotations

from vaultmem.commands.memories import limit_option, run_job, vault_of
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Filed memories that nobody has read or changed for memories.decay_after (30d), unless their policy is stable,
they are important, or their day is still to come. The agent does this by itself once a day."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    limit_option(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    with vault_of(args, output) as vault:
        return run_job(args, output, "decay", vault)
