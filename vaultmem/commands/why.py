"""vaultmem why: explain a note's place in the results of a query."""

from __future__ import annotations

from vaultmem.commands.search import by_meaning
from vaultmem.commands.shared import open_vault
from vaultmem.output import Output, table
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from vaultmem.search.why import Why


def run(args: argparse.Namespace, output: Output) -> int:
    """Explain one result."""
    with open_vault(args, output) as vault:
        why = vault.why(args.query, args.note, semantic=by_meaning(args), by=args.by or "")
        if output.as_json:
            output.data(why.__dict__)
        else:
            _show(why, output)
    return 0


def _show(why: Why, output: Output) -> None:
    output.line(output.paint(why.title, "bold") + f"  {why.path}")
    if why.rank is None:
        output.line("  not among the results")
    else:
        output.line(
            f"  number {why.rank} of {why.of}, lines {why.line}-{why.end_line}, score {why.score:.2f}"
        )
    rows = [(f"  {name}", f"{points:+.2f}") for name, points in why.parts.items()]
    rows += [(f"    of keyword: {name}", f"{points:.2f}") for name, points in why.fields.items()]
    for row in table(rows):
        output.line(row)
    if why.confidence is not None and why.confidence < 1:
        output.line(f"  confidence {why.confidence}")
    for remark in why.remarks:
        output.line(f"  {remark}")
