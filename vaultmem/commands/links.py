"""vaultmem links: what a note links to."""

from __future__ import annotations

from vaultmem.commands.shared import open_vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output
from vaultmem.store.catalog_read import LinkView

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """List the links in the order they stand."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        links = vault.links(path)
        if output.as_json:
            output.data(
                {"note": path, "links": [link.__dict__ for link in links], "count": len(links)}
            )
            return 0
        if not links:
            output.remark(f"vaultmem: {path} has no links")
        for link in links:
            output.line(f"{link.line:>5}  {spelled(link)}  {_target(link, output)}")
    return 0


def spelled(link: LinkView) -> str:
    """The link as a person would write it."""
    shown = (
        f"|{link.display}"
        if link.display and link.kind in ("wikilink", "embed", "frontmatter")
        else ""
    )
    text = f"{link.path}{link.subpath or ''}{shown}"
    if link.kind == "markdown":
        return f"[{link.display or ''}]({text})"
    if link.kind == "block":
        return f"(({text}))"
    if link.kind == "tag":
        return f"#{text}"
    return f"{'!' if link.kind == 'embed' else ''}[[{text}]]"


def _target(link: LinkView, output: Output) -> str:
    if link.target is None:
        return output.paint("leads nowhere", "red")
    several = f" (of {link.choices} with this name)" if link.choices > 1 else ""
    return output.paint(f"→ {link.target}", "green") + several
