"""vaultmem restore: bring a memory back from the archive."""

from __future__ import annotations

from vaultmem.commands.memories import SWITCHES, memory_option, run_one, writing_options
from vaultmem.commands.parsing import apart
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = (
    "It goes back into the folder of its category. vaultmem list --deleted shows what there is."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    memory_option(parser)
    writing_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the words."""
    return apart(words, SWITCHES)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    return run_one(args, output, "restore", "restored")
