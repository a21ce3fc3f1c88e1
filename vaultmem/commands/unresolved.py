"""vaultmem unresolved: links that lead nowhere, and links that could mean several notes."""

from __future__ import annotations

from vaultmem.commands.shared import open_vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

    from vaultmem.api import UnresolvedLink


def run(args: argparse.Namespace, output: Output) -> int:
    """List the names, the most wanted first."""
    with open_vault(args, output) as vault:
        if args.ambiguous:
            links = vault.ambiguous()
            if output.as_json:
                output.data({"ambiguous": [link.__dict__ for link in links], "count": len(links)})
                return 0
            output.remark(f"vaultmem: {plural(len(links), 'ambiguous link')}")
            for link in links:
                output.line(f"{output.paint(f'{link.source}:{link.line}', 'cyan')}  [[{link.path}]] → {link.target}"
                            f" (of {link.choices})")  # fmt: skip
            return 0
        found = vault.unresolved()
        if output.as_json:
            output.data({"unresolved": [link.__dict__ for link in found], "count": len(found)})
            return 0
        _show(found, output)
    return 0


def _show(found: list[UnresolvedLink], output: Output) -> None:
    names: dict[str, list[UnresolvedLink]] = {}
    for link in found:
        names.setdefault(link.name.lower(), []).append(link)
    tags = [links[0].name for links in names.values() if all(link.kind == "tag" for link in links)]
    output.remark(
        f"vaultmem: {plural(len(found), 'link')} to {plural(len(names), 'name')} that no file has"
    )
    for links in sorted(names.values(), key=lambda group: (-len(group), group[0].name.lower())):
        if links[0].name in tags:
            continue
        owners = links[0].alias_of
        hint = f"  (an alias of {', '.join(owners)})" if owners else ""
        output.line(f"{output.paint(links[0].name, 'bold')}{hint}")
        for link in links[:5]:
            output.line(output.paint(f"    {link.source}:{link.line}", "dim"))
        if len(links) > 5:
            output.line(output.paint(f"    and {len(links) - 5} more", "dim"))
    if tags:
        output.line(
            output.paint("tags without a page: ", "dim")
            + " ".join(f"#{tag}" for tag in sorted(tags))
        )
