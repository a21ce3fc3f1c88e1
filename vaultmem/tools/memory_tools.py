"""Our own tools. They read like the command line, and each is one call of the Python API.

Whatever a tool writes carries the name of the client, as `by` in the history and as `agent` in the memory: so it counts
as an assistant's until a person approves it, whatever the assistant says of itself.
"""

from __future__ import annotations

from vaultmem.core import limits
from vaultmem.core.memory import CATEGORIES, PHASES, TYPES
from vaultmem.core.pending_page import OLDER, WORDS
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.errors import NoteNotFoundError
from vaultmem.tools import finding, recalled
from vaultmem.tools.notes import is_hidden, note_path, note_text, ready
from vaultmem.tools.schema import an_object, number, switch, text, texts
from vaultmem.tools.shown import about, briefly, fenced, lines, memory_line, quoted, short_id
from vaultmem.tools.tool import Annotations, Call, Outcome, Tool

if TYPE_CHECKING:
    from vaultmem.api import Vault

    Record = dict[str, object]

_READS = Annotations(read_only=True, idempotent=True)
_ADDS = Annotations(idempotent=True)
_REMOVES = Annotations(destructive=True, idempotent=True)
_LIST, _FOUND = 20, 10  # how many, if nothing is said


def write(vault: Vault, call: Call) -> Outcome:
    """memory_write."""
    found: Record = vault.ask(
        "write", content=call.text("content"), category=call.text("category") or None, tags=call.texts("tags") or None,
        scope=call.text("scope") or None, source=call.text("source") or None, title=call.text("title") or None,
        project=call.text("project") or None, expires=call.text("expires") or None,
        replaces=call.text("replaces") or None, by=call.client, agent=call.client,
    )  # fmt: skip
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
        found: Record = vault.ask(
            "read", id=call.text("id"), by=call.client, scope=call.text("scope") or None
        )
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
    names = ("phase", "category", "scope", "source")
    given = {name: call.text(name) or None for name in names}
    days = {"since": call.text("from") or None, "until": call.text("to") or None}
    found: Record = vault.ask(
        "list",
        **given,
        **days,
        tags=call.texts("tags") or None,
        by=call.client,
        limit=call.number("limit", _LIST, 1, limits.RESULTS),
    )
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
    found = ready(vault).pending(days=call.number("days", 7, 0, limits.DAYS))
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


_ID = text("id, title or path")
_QUERY = text()
_TAGS = texts()
_SCOPE = text("global, agent:NAME, user:ID, conversation:ID")
_DAYS: dict[str, dict[str, object]] = {"from": text("YYYY-MM-DD"), "to": text()}
_CATEGORY = text(
    "people, project, date, knowledge, feedback, preferences, decisions, lessons, habits or skills",
    enum=[*CATEGORIES],
)
_LIMIT = number()


# Every word of the list costs tokens in each session: names say what titles would, and what few need is taken and not
# listed (`quiet`).
TOOLS = (
    Tool(
        "memory_write", "", "Remember one fact; known ones are not doubled.",
        an_object(
            ("content",), content=text(), category=_CATEGORY, tags=_TAGS, scope=_SCOPE,
            title=text(), source=text(), project=text(), expires=text(), replaces=text(),
        ),
        _ADDS, write, quiet=("title", "project", "expires"),
    ),
    Tool(
        "memory_read", "", "All of one memory or note.", an_object(("id",), id=_ID, scope=text()),
        _READS, read, quiet=("scope",),
    ),
    Tool(
        "memory_delete", "", "Move a memory to the archive; can be undone.",
        an_object(("id",), id=text()), _REMOVES, delete,
    ),
    Tool(
        "memory_list", "", "Memories, newest first.",
        an_object(
            (), phase=text(enum=[*PHASES]), category=text(), scope=text(), tags=_TAGS, source=text(),
            limit=_LIMIT, **_DAYS,
        ),
        _READS, listed, quiet=("phase", "scope", "source", "tags"),
    ),
    Tool(
        "memory_search", "", "Find memories and notes by words and meaning.",
        an_object(
            ("query",), query=_QUERY, tags=_TAGS, scope=text(), phase=text(), category=text(), notes=switch(),
            limit=_LIMIT, **_DAYS,
        ),
        _READS, finding.search, quiet=("scope", "phase"),
    ),
    Tool(
        "memory_tag", "", "Add or remove tags.", an_object(("id",), id=text(), add=_TAGS, remove=_TAGS),
        Annotations(idempotent=True), tag,
    ),
    Tool(
        "memory_smart_search", "",
        "The same, also by links and recency.",
        an_object(("query",), query=_QUERY, tags=_TAGS, scope=text(), notes=switch(), limit=_LIMIT),
        _READS, finding.smart_search, quiet=("tags", "scope", "limit"),
    ),
    Tool(
        "memory_recall", "", "What is known about something. Call it first.",
        an_object(
            ("query",), query=_QUERY, budget=number(), top_k=_LIMIT,
            types={"type": "array", "items": {"type": "string", "enum": [*TYPES]}}, scope=text(), notes=switch(),
            untrusted=switch(), as_of=text(),
        ),
        _READS, recalled.recall, quiet=("top_k", "types", "scope", "untrusted", "as_of"),
    ),
    Tool(
        "memory_pending", "", "Tasks and reminders that are due.",
        an_object(days=number()), _READS, pending,
    ),
    Tool(
        "memory_done", "", "Say that a task or reminder of memory_pending is done.",
        an_object(("id",), id=text()), _ADDS, done,
    ),
    Tool(
        "memory_related", "", "Notes and memories near one.",
        an_object(("id",), id=_ID, limit=_LIMIT), _READS, finding.related, quiet=("limit",),
    ),
)  # fmt: skip
