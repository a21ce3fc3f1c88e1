"""vaultmem link: link two memories, both ways."""

from __future__ import annotations

from vaultmem.commands.memories import SWITCHES, pair_options, run_pair
from vaultmem.commands.parsing import apart
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    pair_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the words."""
    return apart(words, SWITCHES)


def run(args: argparse.Namespace, output: Output) -> int:
    """Do it, or show what it would do."""
    return run_pair(args, output, "link", ("linked", "were linked already"))
