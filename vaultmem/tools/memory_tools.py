"""Our own tools. They read like the command line, and each is one call of the Python API.

Whatever a tool writes carries the name of the client, as `by` in the history and as `agent` in the memory: so it counts
as an assistant's until a person approves it, whatever the assistant says of itself.
"""

from __future__ import annotations

from vaultmem.api.params import of_tool
from vaultmem.api.verbs import every
from vaultmem.errors import NoteNotFoundError
from vaultmem.reminders.pending_page import OLDER, WORDS
from vaultmem.text.values import TYPE_CHECKING, plural
from vaultmem.tools import finding, recalled
from vaultmem.tools.notes import is_hidden, note_path, note_text, ready
from vaultmem.tools.shown import about, briefly, fenced, lines, memory_line, quoted, short_id
from vaultmem.tools.tool import Annotations, Call, Outcome, Run, Tool

if TYPE_CHECKING:
    from vaultmem.api import Vault

    Record = dict[str, object]


def write(vault: Vault, call: Call) -> Outcome:
    """memory_write."""
    found: Record = vault.ask("write", **call.arguments, by=call.client, agent=call.client)
    data: Record = {
        **briefly(found),
        "created": found["created"],
        "duplicate_of": found["duplicate_of"],
    }
    replaced = found.get("replaced") or []
    data |= {"replaced": replaced} if replaced else {}
    said = "written" if found["created"] else "known already"
    named = f"{quoted(str(found['title']))} ({about(found)})"
    return Outcome(f"{said}: {named}{_clashes(found, data)}", data)


def _clashes(found: Record, data: Record) -> str:
    """What of the memories that are there is like it, or against it."""
    said = ""
    for name in ("contradicts", "similar"):
        listed = found.get(name)
        others = listed if isinstance(listed, list) else []
        if others:
            data[name] = [{"id": one.get("id")} for one in others]
            shown = (f"{quoted(str(one['title']))} ({short_id(one.get('id'))})" for one in others)
            said += f"\n{name}: " + "; ".join(shown)
    listed = found.get("same_as")
    same = listed if isinstance(listed, list) else []
    if same:
        data["same_as"] = [{"id": one["id"], "merges": one["merges"]} for one in same]
    for one in same:
        then = "a dream merges the two, undo takes that back" if one["merges"] else "both stay"
        said += f"\nsays the same as {quoted(str(one['title']))} ({short_id(one['id'])}): {then}"
    if found.get("replaced"):
        said += "\nreplaced: what this contradicts went to the archive"
    return said


def read(vault: Vault, call: Call) -> Outcome:
    """memory_read: a memory; a note, where no memory is called so."""
    try:
        found: Record = vault.ask("read", **call.arguments, by=call.client)
    except NoteNotFoundError:
        return _read_note(vault, call)
    title, whole = quoted(str(found["title"])), fenced(str(found["content"]))
    return Outcome(f"{title} ({about(found)})\n{whole}", briefly(found))


def _read_note(vault: Vault, call: Call) -> Outcome:
    path = note_path(vault, call.text("id"), call.viewer)
    whole = note_text(vault, path)
    return Outcome(f"{quoted(path)}\n{fenced(whole)}", {"path": path})


def delete(vault: Vault, call: Call) -> Outcome:
    """memory_delete."""
    found = vault.delete(call.text("id"), by=call.client)
    data = {"id": found["id"], "deleted": True, "path": found["path"]}
    title = quoted(found["title"])
    return Outcome(f"moved to the archive: {title} ({short_id(found['id'])})", data)


def listed(vault: Vault, call: Call) -> Outcome:
    """memory_list."""
    found: Record = vault.ask("list", **call.arguments, by=call.client)
    records = found["memories"]
    each = records if isinstance(records, list) else []
    places = [{"id": one["id"], "path": one["path"]} for one in each]
    return Outcome(
        lines(plural(len(each), "memory", "memories"), map(memory_line, each), "no memories"),
        {"memories": places, "count": len(each)},
    )


def tag(vault: Vault, call: Call) -> Outcome:
    """memory_tag."""
    found = vault.tag(
        call.text("id"), *call.texts("add"), remove=call.texts("remove"), by=call.client
    )
    data = {**briefly(found), "tags": found["tags"], "changed": found["changed"]}
    title = quoted(str(found["title"]))
    return Outcome(f"tags: {', '.join(found['tags']) or 'none'}\n{title} ({about(found)})", data)


def pending(vault: Vault, call: Call) -> Outcome:
    """memory_pending."""
    found = ready(vault).pending(days=call.number("days"))
    told = (one for one in found if not (one["asks"] or is_hidden(vault, _place(one), call.viewer)))
    every = list(told)
    waiting = [one for one in every if one["section"] != OLDER]
    items = [_waiting(one) for one in waiting]
    said = [_waiting_line(one) for one in waiting]
    older = len(every) - len(items)
    said += [f"- and {older} overdue for more than two weeks"] if older else []
    return Outcome(
        lines(f"{len(every)} wait", said, "nothing waits"),
        {"items": items, "count": len(every)},
    )


def _place(item: Record) -> str:
    """The note that an item stands in."""
    path, _, line = str(item.get("source") or "").rpartition(":")
    return path if line.isdigit() else str(item.get("source") or "")


def _waiting(item: Record) -> Record:
    kept = ("id", "section", "due", "source")
    return {name: item[name] for name in kept if item.get(name)}


def _waiting_line(item: Record) -> str:
    when = " ".join(str(item[name]) for name in ("section", "due") if item.get(name))
    by = [f"by {quoted(str(item['author']))}"] if item.get("author") else []
    named = (quoted(str(item[name])) for name in ("repeat", "source") if item.get(name))
    where = ", ".join([*by, *named])
    return (
        f"- {item['id']} {when}: {quoted(str(item['text']), WORDS)}{f' ({where})' if where else ''}"
    )


def done(vault: Vault, call: Call) -> Outcome:
    """memory_done."""
    found = ready(vault).done(call.text("id"), by=call.client)
    data = {name: found[name] for name in ("id", "state", "was", "changed")}
    said = "done" if found["changed"] else f"was {found['was']} already"
    return Outcome(f"{said}: {quoted(found['text'])} ({data['id']})", data)


_RUN: dict[str, Run] = {
    "write": write, "read": read, "delete": delete, "list": listed, "search": finding.search, "tag": tag,
    "smart-search": finding.smart_search, "recall": recalled.recall, "pending": pending, "done": done,
    "related": finding.related,
}  # fmt: skip


def _tool(name: str, run: Run) -> Tool:
    """A verb of the table as a tool."""
    verb = every()[name]
    exposed = verb.tool
    assert exposed is not None
    marks = Annotations(not verb.writes, exposed.removes, idempotent=True)
    named = f"memory_{name.replace('-', '_')}"
    return Tool(named, "", exposed.about, of_tool(verb, exposed), marks, run, tuple(exposed.quiet))


TOOLS = tuple(_tool(name, run) for name, run in _RUN.items())
