"""vaultmem import: take memories in from lines of JSON."""

from __future__ import annotations

import sys

from vaultmem.commands.memories import vault_of, writing_options
from vaultmem.core.exchange import SHAPES
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.errors import VaultmemError
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse
    from typing import Any

FORMATS = SHAPES
MOST_SAID = 20
EPILOG = """\
Reads what vaultmem export writes; with --format memories or --format memory-cli, what these programs write. A memory
that is there, by its id or its text, is not written twice; --on-conflict says what becomes of another version of it.
A line that cannot be read is named by its number, the others are taken in, and the exit code is 1. So many memories
as fit into one batch (500) are one entry of vaultmem history, which vaultmem undo takes back.

examples:
  vaultmem import memories.jsonl --dry-run
  vaultmem import - --on-conflict newer < memories.jsonl"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("file", metavar="FILE", help="the file; - reads stdin")
    parser.add_argument(
        "--on-conflict",
        choices=("skip", "newer", "both"),
        default="skip",
        help="another version of a memory: leave it out (the default), take the newer one, keep both",
    )
    writing_options(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Take the memories in, and say what became of them."""
    shape = args.format if args.format in FORMATS else None
    how = {
        "on_conflict": args.on_conflict,
        "shape": shape,
        "by": args.by,
        "dry_run": args.dry_run,
    }
    with vault_of(args, output) as vault, output.bar() as bar:
        if bar.shown:
            how["progress"] = bar
        if args.file == "-":
            report = vault.import_lines(sys.stdin.buffer, **how)
        else:
            try:
                with open(args.file, "rb") as file:
                    report = vault.import_lines(file, **how)
            except OSError as error:
                raise VaultmemError(f"{args.file} cannot be read: {error.strerror}") from error
    _say(report, Output() if shape else output)  # a shape is none of the report's formats
    return 1 if report["failures"] else 0


def _say(report: dict[str, Any], output: Output) -> None:
    if output.as_json:
        output.data(report)
    else:
        done = "would be " if report["dry_run"] else ""
        names = {"new": "new", "changed": "replaced", "known": "there already"}
        said = [f"{report[name]:,} {what}" for name, what in names.items()]
        output.line(f"{done}imported: {', '.join(said)}")
    for name, what in (("kept", "left as it is"), ("failed", "not imported")):
        for each in report[name][:MOST_SAID]:
            output.remark(f"vaultmem: line {each['line']}: {what}: {each['reason']}")
        if len(report[name]) > MOST_SAID:
            output.remark(f"vaultmem: and {plural(len(report[name]) - MOST_SAID, 'line')} more")
