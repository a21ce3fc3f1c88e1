"""vaultmem done: say that something that waits is done."""

from __future__ import annotations

from vaultmem.commands.answers import answer_options, prepared, run_answer
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
A reminder that does not repeat goes to the archive. A task stays open in its note until you say so once more
(pending.complete_in_notes in the settings: ask, always or never). --undo takes it back. NOTE:LINE ticks any task in
its note at once; vaultmem undo takes that back."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    answer_options(parser)


def prepare(words: list[str]) -> list[str]:
    """The options before the ids."""
    return prepared(words)


def run(args: argparse.Namespace, output: Output) -> int:
    """Answer, or show what that would do."""
    return run_answer(args, output, "done")
