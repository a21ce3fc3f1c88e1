"""vaultmem restart: end the sync agent and start it again."""

from __future__ import annotations

from vaultmem.agent import life
from vaultmem.api import Vault
from vaultmem.commands.start import say_started
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """Stop, then start."""
    vault = Vault(args.vault).path  # checks the settings before the old agent is gone
    life.stop(vault)
    say_started(life.start(vault), vault, output)
    return 0
