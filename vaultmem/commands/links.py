"""vaultmem links, backlinks, related, unresolved: how notes hang together."""

from __future__ import annotations

from vaultmem.commands.shared import open_vault
from vaultmem.index.catalog_read import LinkView
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse

    from vaultmem.api import UnresolvedLink


def links(args: argparse.Namespace, output: Output) -> int:
    """List the links in the order they stand."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        found = vault.links(path)
        if output.as_json:
            output.data(
                {"note": path, "links": [link.__dict__ for link in found], "count": len(found)}
            )
            return 0
        if not found:
            output.remark(f"vaultmem: {path} has no links")
        for link in found:
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


def backlinks(args: argparse.Namespace, output: Output) -> int:
    """List the links by source."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        found = vault.backlinks(path)
        named = vault.mentions(path) if args.mentions else []
        if output.as_json:
            report: dict[str, object] = {
                "note": path,
                "backlinks": [link.__dict__ for link in found],
                "count": len(found),
            }
            if args.mentions:
                report["mentions"] = [mention.__dict__ for mention in named]
            output.data(report)
            return 0
        sources = len({link.source for link in found})
        output.remark(
            f"vaultmem: {plural(len(found), 'link')} from {plural(sources, 'note')} to {path}"
        )
        for link in found:
            output.line(f"{output.paint(f'{link.source}:{link.line}', 'cyan')}  {spelled(link)}")
        if args.mentions:
            output.remark(f"vaultmem: named {plural(len(named), 'time')} without a link")
        for mention in named:
            output.line(f"{output.paint(f'{mention.path}:{mention.line}', 'cyan')}  {mention.text}")
    return 0


def related(args: argparse.Namespace, output: Output) -> int:
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


def unresolved(args: argparse.Namespace, output: Output) -> int:
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
        _show_unresolved(found, output)
    return 0


def _show_unresolved(found: list[UnresolvedLink], output: Output) -> None:
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
