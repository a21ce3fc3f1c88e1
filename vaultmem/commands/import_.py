"""vaultmem import: take memories in from lines of JSON."""

from __future__ import annotations

import io
import sys

from vaultmem import paths
from vaultmem.commands.memories import vault_of
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.exchange import vault_sources
from vaultmem.exchange.lines import MEMORY_CLI, SHAPES
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from typing import Any

FORMATS = SHAPES
MOST_SAID = 20


def run(args: argparse.Namespace, output: Output) -> int:
    """Take the memories in, and say what became of them."""
    given = [each for each in (args.file, args.input, args.store) if each]
    if len(given) != 1:
        raise UsageError("name one file, or --from a folder")
    shape = args.format if args.format in FORMATS else None
    found = vault_sources.store(args.store) if args.store else None
    how = {
        "on_conflict": args.on_conflict,
        "shape": MEMORY_CLI if found else shape,
        "by": args.by,
        "dry_run": args.dry_run,
    }
    with vault_of(args, output) as vault, output.bar() as bar:
        if bar.shown:
            how["progress"] = bar
        if found:
            report = vault.import_lines(io.BytesIO(found.lines), **how)
        elif given == ["-"]:
            report = vault.import_lines(sys.stdin.buffer, **how)
        else:
            try:
                with open(given[0], "rb") as file:
                    report = vault.import_lines(file, **how)
            except OSError as error:
                raise VaultmemError(f"{given[0]} cannot be read: {error.strerror}") from error
    if found:
        _name_files(report, found)
    _say(report, Output() if shape else output)  # a shape is none of the report's formats
    if found and found.settings:
        said = "\n  ".join(f"{key}: {value}" for key, value in found.settings.items())
        output.remark(f"vaultmem: its settings, for {paths.config_file()}:\n  {said}")
    return 1 if report["failures"] else 0


def _name_files(report: dict[str, Any], found: vault_sources.Store) -> None:
    """Say of which file of the store it speaks, instead of which line."""
    for each in (*report["kept"], *report["failed"]):
        each["reason"] = f"{found.paths[each['line'] - 1]}: {each['reason']}"


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
