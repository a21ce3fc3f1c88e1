"""vaultmem links, backlinks, related and unresolved: how notes are connected."""

from __future__ import annotations

from collections.abc import Sequence

from vaultmem import screen
from vaultmem.commands.rendering import open_vault, show_words
from vaultmem.index.catalog_read import LinkView
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.adapter import JsonObject
    from vaultmem.api.vault import UnresolvedLink

MOST_PLACES = 5


def _data(name: str, rows: Sequence[object], **more: object) -> JsonObject:
    return {**more, name: [row.__dict__ for row in rows], "count": len(rows)}


def links(args: Namespace, output: Output) -> int:
    """List the links of a note, in order."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        rows = vault.links(path)
    output.answer(_data("links", rows, note=path))
    if not rows:
        output.note(f"{path} has no links")
    for link in rows:
        several = f" (of {link.choices} with this name)" if link.choices > 1 else ""
        room = output.room(screen.columns(markup(link)) + 11 + len(several))
        target = f"→ {output.place(str(link.target), room=room, style='green')}{several}"
        if link.target is None:
            target = output.paint("leads nowhere", "red")
        output.line(f"{link.line:>5}  {markup(link)}  {target}")
    return 0


def markup(link: LinkView) -> str:
    """The link as a person would write it."""
    has_text = link.display and link.kind in ("wikilink", "embed", "frontmatter")
    text = f"{link.path}{link.subpath or ''}{f'|{link.display}' if has_text else ''}"
    if link.kind == "markdown":
        return f"[{link.display or ''}]({text})"
    if link.kind == "block":
        return f"(({text}))"
    if link.kind == "tag":
        return f"#{text}"
    return f"{'!' if link.kind == 'embed' else ''}[[{text}]]"


def backlinks(args: Namespace, output: Output) -> int:
    """List the links to a note by source."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        rows = vault.backlinks(path)
        mentions = vault.mentions(path) if args.mentions else []
    more = {"mentions": [mention.__dict__ for mention in mentions]} if args.mentions else {}
    output.answer({**_data("backlinks", rows, note=path), **more})
    sources = plural(len({link.source for link in rows}), "note")
    output.note(f"{plural(len(rows), 'link')} from {sources} to {path}")
    for link in rows:
        text = markup(link)
        room = output.room(screen.columns(text) + 2)
        output.line(f"{output.place(link.source, link.line, room=room)}  {text}")
    if args.mentions:
        output.note(f"named {plural(len(mentions), 'time')} without a link")
    for mention in mentions:
        show_words(
            f"{output.place(mention.path, mention.line, room=output.room(8))}  ",
            mention.text,
            output,
        )
    return 0


def related(args: Namespace, output: Output) -> int:
    """List the nearest notes with the reasons."""
    with open_vault(args, output) as vault:
        path = vault.find_note(args.note)
        rows = vault.related(path, limit=args.limit)
    output.answer(_data("related", rows, note=path))
    if not rows:
        output.note(f"nothing is related to {path}")
    for row in rows:
        room = output.room(screen.columns(row.title) + 8)
        title = f"{output.paint(row.title, 'bold')}  {output.place(row.path, room=room)}"
        output.line(f"{title}  {row.score:.2f}")
        show_words("    ", "; ".join(row.reasons), output, "dim")
    return 0


def unresolved(args: Namespace, output: Output) -> int:
    """List the names of links that lead nowhere, most frequent first; or links with several targets."""
    with open_vault(args, output) as vault:
        ambiguous = vault.ambiguous() if args.ambiguous else []
        rows = [] if args.ambiguous else vault.unresolved()
    output.answer(_data("ambiguous", ambiguous) if args.ambiguous else _data("unresolved", rows))
    if not args.ambiguous:
        _show_unresolved(rows, output)
        return 0
    output.note(plural(len(ambiguous), "ambiguous link"))
    for link in ambiguous:
        place = output.place(link.source, link.line, room=output.room(30))
        output.line(f"{place}  [[{link.path}]] → {link.target} (of {link.choices})")
    return 0


def _show_unresolved(rows: list[UnresolvedLink], output: Output) -> None:
    names: dict[str, list[UnresolvedLink]] = {}
    for link in rows:
        names.setdefault(link.name.lower(), []).append(link)
    tags = [links[0].name for links in names.values() if all(link.kind == "tag" for link in links)]
    many = f"{plural(len(rows), 'link')} to {plural(len(names), 'name')}"
    output.note(f"{many} that no file has")
    for links in sorted(names.values(), key=lambda group: (-len(group), group[0].name.lower())):
        if links[0].name in tags:
            continue
        owners = links[0].alias_of
        hint = f"  (an alias of {', '.join(owners)})" if owners else ""
        output.line(f"{output.paint(links[0].name, 'bold')}{hint}")
        for link in links[:MOST_PLACES]:
            place = output.place(link.source, link.line, room=output.room(4), style="dim")
            output.line(f"    {place}")
        if len(links) > MOST_PLACES:
            output.line(output.paint(f"    and {len(links) - MOST_PLACES} more", "dim"))
    if tags:
        show_words("tags without a page: ", " ".join(f"#{tag}" for tag in sorted(tags)), output)
