"""vaultmem related: notes that belong near a note."""

from __future__ import annotations

from vaultmem.commands.shared import open_vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """List the nearest notes with the reasons."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        found = vault.related(path, limit=args.limit)
        if output.as_json:
            output.data(
                {"note": path, "related": [one.__dict__ for one in found], "count": len(found)}
            )
            return 0
        if not found:
            output.remark(f"vaultmem: nothing is near {path}")
        for one in found:
            output.line(
                f"{output.paint(one.title, 'bold')}  {output.paint(one.path, 'cyan')}  {one.score:.2f}"
            )
            output.line(output.paint(f"    {'; '.join(one.reasons)}", "dim"))
    return 0
