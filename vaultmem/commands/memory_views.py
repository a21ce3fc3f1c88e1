"""How memories are printed: the result of a write, one memory, lists; and of notes their properties and links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vaultmem import screen
from vaultmem.commands.rendering import (
    ask,
    count_of,
    open_vault,
    params_of,
    place,
    short,
    show_done,
    show_report,
    show_words,
    vault_of,
)
from vaultmem.errors import UsageError
from vaultmem.output import Output, json_text, table
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import local_day, reminds_on
from vaultmem.text.titles import repeats, title_of
from vaultmem.text.values import TEXT_PROPERTIES, TYPE_CHECKING, plural

if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace

    from vaultmem.adapter import JsonObject, Value
    from vaultmem.api.vault import UnresolvedLink
    from vaultmem.commands.rendering import Answer
    from vaultmem.index.catalog_read import LinkView

_FIELDS = (
    "id", "path", "remind", "repeat", "category", "scope", "tags", *TEXT_PROPERTIES,
    "memory_type", "importance", "links", "created_at", "updated_at", "last_reinforced_at", "expires_at",
)  # fmt: skip


def show_written(answer: Answer, _args: Namespace, output: Output) -> None:
    """write: print where the memory is."""
    if answer["created"]:
        show_done("written", answer, output)


def remark_similar(answer: Answer, output: Output) -> None:
    """write: remark on similar or contradicting memories, and on secrets."""
    if answer.get("duplicate_of"):
        output.remark(f"the same text already exists: {place(answer, output)}")
    remark_secrets(answer, output)
    same = answer.get("same_as", ())
    for memory in same:
        then = "a dream merges the two; vaultmem undo reverts that"
        then = then if memory["merges"] else "both stay"
        output.remark(f"says the same as {place(memory, output)}; {then}")
    ids = {memory["id"] for memory in same}
    for memory in (memory for memory in answer["similar"] if memory["id"] not in ids):
        output.remark(f"similar to {place(memory, output)} ({memory['similarity']:.0%} alike)")
    replaced = answer.get("replaced", ())
    for memory in answer["contradicts"]:
        verb = "replaces" if memory["id"] in replaced else "may contradict"
        output.remark(f"{verb} {place(memory, output)}: {memory['why']}")
    if replaced:
        back = "vaultmem undo --last reverts that"
        output.remark(f"what is replaced is in the archive; {back}")


def remark_secrets(answer: Answer, output: Output) -> None:
    """Remark on secrets in a text: removed if an assistant wrote it, only reported to a person."""
    if answer["redacted"]:
        kinds = ", ".join(answer["redacted"])
        output.remark(f"removed, as memories must not contain it: {kinds}")
    if answer["secrets"]:
        what = f"this holds what looks like a secret ({', '.join(answer['secrets'])})"
        output.remark(f"{what}; anybody who can read the vault can read it")


def show_memory(answer: Answer, _args: Namespace, output: Output) -> None:
    """read: print all fields of a memory."""
    fields: JsonObject = {name: answer.get(name) for name in _FIELDS}
    fields = {
        **{name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in fields.items()},
        "confidence": f"{answer['confidence']:.2f} ({answer['decay_policy']})",
        "read": f"{answer['access_count']:,} ×",
    }  # fmt: skip
    output.line(output.paint(answer["title"], "bold"))
    filled = ((name, str(value)) for name, value in fields.items() if value not in (None, ""))
    for row in table([*filled, *_provenance(answer)]):
        output.line(output.paint(row, "dim"))
    output.line()
    text = answer.get("text") or answer["content"]
    output.text(text.removesuffix("\n") + "\n")


def _provenance(answer: Answer) -> Iterator[tuple[str, str]]:
    if whose := answer.get("attribution"):
        yield "written", whose
    if origin := answer.get("drawn_from"):
        line = f":{origin['line']}" if origin["line"] else ""
        yield "drawn from", f"{origin['path']}{line}  “{one_line(origin['sentence'])}”"
    for memory in answer.get("replaced", ()):
        yield "replaced", f"{short(memory['id'])} {memory['title']}"
    for memory in answer.get("recalled", ()):
        yield f"recalled {memory['day']}", f"by {memory['by'] or 'you'}, {memory['times']:,} ×"


def show_memories(answer: Answer, args: Namespace, output: Output) -> None:
    """list: print one line per memory."""
    memories = answer["memories"]
    total, listed = answer["total"], len(memories) + (args.offset or 0)
    part = f"{len(memories):,} of " if len(memories) < total else ""
    more = f"; --offset {listed} lists more" if memories and listed < total else ""
    output.remark(f"{part}{count_of(total)}{' in the archive' if args.deleted else ''}{more}")
    for full in table(
        (short(memory["id"]), local_day(memory["created_at"]), memory["category"], _title(memory))
        for memory in memories
    ):
        row = screen.cut(full, output.columns) if output.columns else full
        output.line(output.paint(row[:8], "yellow") + row[8:])


def _title(memory: Answer) -> str:
    """The title, the content if different, the tags, the time of a reminder, and the attribution of unapproved
    words."""
    says = "" if repeats(memory["title"], memory["content"]) else title_of(memory["content"])
    title = f"{memory['title']}: {says}" if says else memory["title"]
    whose = [f"({memory['attribution']})"] if "attribution" in memory else []
    reminds = [f"({when})"] if (when := reminds_on(memory)) else []
    return " ".join([title, *(f"#{tag}" for tag in memory["tags"]), *reminds, *whose])


def show_moved(answer: Answer, args: Namespace, output: Output) -> None:
    """delete, restore: print where the memory is now."""
    show_done(f"{args.command}d", answer, output)


def show_edited(answer: Answer, _args: Namespace, output: Output) -> None:
    """edit: print the memory."""
    says = "changed" if answer["changed"] else "as it was", reminds_on(answer)
    output.line(f"{place(answer, output)}: {'; '.join(filter(None, says))}")


def show_tags(answer: Answer, _args: Namespace, output: Output) -> None:
    """tag: print the tags of the memory."""
    tags = " ".join(f"#{tag}" for tag in answer["tags"]) or "no tags"
    output.line(f"{place(answer, output)}: {tags}")


def show_link(answer: Answer, args: Namespace, output: Output) -> None:
    """link, unlink: print the two memories."""
    pair = f"{short(answer['source'])} and {short(answer['target'])}"
    done, before = ("linked", "were linked already")
    if args.command == "unlink":
        done, before = ("no longer linked", "were not linked")
    output.line(f"{done}: {pair}" if answer["changed"] else f"{pair} {before}")


def show_reinforced(answer: Answer, _args: Namespace, output: Output) -> None:
    """reinforce: print the confidence of the memory."""
    output.line(f"reinforced: {short(answer['id'])}, confidence {answer['confidence']:.2f}")


def show_approved(answer: Answer, args: Namespace, output: Output) -> None:
    """approve: print the memories."""
    for memory in answer["memories"]:
        output.line(place(memory, output))
    done = "no longer approved" if args.undo else "approved"
    done = f"would be {done}" if args.dry_run else done
    many = f"{done}: {count_of(len(answer['memories']))}"
    output.remark(f"{many if answer['memories'] else 'nothing to approve'}")


def upgrade(args: Namespace, output: Output) -> int:
    """File one memory of the inbox, or all that are read often."""
    if not args.id and args.category:
        raise UsageError("--category goes with one memory; name it")
    if args.id and args.limit is not None:
        raise UsageError("--limit goes without an ID")
    with vault_of(args, output) as vault:
        if args.id:
            answer = vault.ask("upgrade", **params_of("upgrade", args))
        else:
            answer = vault.promote(dry_run=args.dry_run, limit=args.limit, by=args.by)
    if not args.id or args.dry_run:
        show_report(answer, output)
    else:
        show_done(f"filed under {answer['category']}", answer, output)
    return 0


# --- properties of notes


def edit_property(args: Namespace, output: Output) -> int:
    """set, unset: change a property, or show what would change."""
    args.value = None if args.value is None else parse_value(args.value)
    return ask(args, output)


def parse_value(text: str) -> Value:
    """A value as typed: a list in brackets, a number, true or false, or else text."""
    from vaultmem.notes import frontmatter, yaml_lines  # rarely needed at the start

    if text[:1] in "[\"'" and not text.startswith("[["):
        value = frontmatter.split(f"---\nvalue: {text}\n---\n").properties.get("value")
        return text if value is None or isinstance(value, dict) else value
    return yaml_lines.scalar(text)


def show_property(answer: Answer, _args: Namespace, output: Output) -> None:
    """set, unset: print the property's current value."""
    value = answer["value"]
    text = value if isinstance(value, str) else json_text(value)
    if value is None:
        says = "removed" if answer["changed"] else "was not there"
    else:
        says = f"{'is' if answer['changed'] else 'was already'} {text}"
    output.line(f"{output.paint(answer['note'], 'cyan')}: {answer['key']} {says}")


# --- links of notes

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
        places = list(dict.fromkeys((link.source, link.line) for link in links))
        for where in places[:MOST_PLACES]:
            output.line(f"    {output.place(*where, room=output.room(4), style='dim')}")
        if len(places) > MOST_PLACES:
            output.line(output.paint(f"    and {len(places) - MOST_PLACES} more", "dim"))
    if tags:
        show_words("tags without a page: ", " ".join(f"#{tag}" for tag in sorted(tags)), output)
