"""vaultmem snooze: let something that waits sleep."""

from __future__ import annotations

from vaultmem.commands.answers import answer_options, prepared, run_answer
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Without --until it comes back tomorrow. --undo wakes it up.

examples:
  vaultmem snooze vm-abc234
  vaultmem snooze vm-abc234 --until "friday 9:00"
  vaultmem snooze vm-abc234 vm-def567 --until 3d"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--until", metavar="WHEN", help="a day, a time or a span: 2026-11-25, friday, 9:00, 3d"
    )
    answer_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the ids."""
    return prepared(words)


def run(args: argparse.Namespace, output: Output) -> int:
    """Answer, or show what that would do."""
    return run_answer(args, output, "snoozed")
