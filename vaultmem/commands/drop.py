"""vaultmem drop: say that nothing will come of something that waits."""

from __future__ import annotations

from vaultmem.commands.answers import answer_options, prepared, run_answer
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
Of what repeats, this time only: the next time it is due again; --series ends it for good, and a reminder goes to the
archive. One that does not repeat goes there at once. Your notes stay as they are. --undo takes it back."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--series", action="store_true", help="never again, not only this time")
    answer_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the ids."""
    return prepared(words)


def run(args: argparse.Namespace, output: Output) -> int:
    """Answer, or show what that would do."""
    return run_answer(args, output, "dropped")
