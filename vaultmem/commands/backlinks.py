"""vaultmem backlinks: what links to a note, and where it is named without a link."""

from __future__ import annotations

from vaultmem.commands.links import spelled
from vaultmem.commands.shared import open_vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """List the links by source."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        links = vault.backlinks(path)
        named = vault.mentions(path) if args.mentions else []
        if output.as_json:
            found: dict[str, object] = {
                "note": path,
                "backlinks": [link.__dict__ for link in links],
                "count": len(links),
            }
            if args.mentions:
                found["mentions"] = [mention.__dict__ for mention in named]
            output.data(found)
            return 0
        sources = len({link.source for link in links})
        output.remark(
            f"vaultmem: {plural(len(links), 'link')} from {plural(sources, 'note')} to {path}"
        )
        for link in links:
            output.line(f"{output.paint(f'{link.source}:{link.line}', 'cyan')}  {spelled(link)}")
        if args.mentions:
            output.remark(f"vaultmem: named {plural(len(named), 'time')} without a link")
        for mention in named:
            output.line(f"{output.paint(f'{mention.path}:{mention.line}', 'cyan')}  {mention.text}")
    return 0
