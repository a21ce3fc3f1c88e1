"""Our own tools. They read like the command line, and each is one call of the Python API.

Whatever a tool writes carries the client's name, as `by` in the history and as `agent` in the memory. So it counts as
an assistant's until a person approves it, whatever the assistant says about itself.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator, Mapping
from itertools import islice

from vaultmem import now as clock
from vaultmem.api.params import of_tool
from vaultmem.api.tool import (
    Annotations,
    Call,
    Outcome,
    Run,
    Tool,
    facts,
    fence,
    listing,
    memory_line,
    quote,
    short_id,
    to_data,
)
from vaultmem.api.verbs import Verb, every
from vaultmem.errors import NoteNotFoundError
from vaultmem.light import cast
from vaultmem.memories.access import Viewer, hidden_now
from vaultmem.memories.conversation import is_talk
from vaultmem.memories.item_answers import attributions
from vaultmem.notes.places import in_conversation
from vaultmem.pending.listing import note_of
from vaultmem.recall.recall_text import block, entry, held_back_line, older_line
from vaultmem.reminders.items import OLDER, WORDS
from vaultmem.search.query import Ask, Filter, Hit, filters_of
from vaultmem.search.snippet import MAX_BYTES
from vaultmem.text.sanitize import one_line
from vaultmem.text.times import seconds
from vaultmem.text.values import TOOL_RESULTS, TYPE_CHECKING, plural
from vaultmem.vault import files

if TYPE_CHECKING:
    from vaultmem.api import Vault

    Record = dict[str, object]

MOST_NAME = MOST_PATH = 1_000  # characters
MORE = 3  # candidates weighed per result
LINKING = 5  # best results whose links are followed
# What each signal adds; the best match of words counts 1.
TAG_SHARE, LINK_SHARE, RECENT_SHARE = 0.3, 0.2, 0.2
RECENT = 30.0  # days
MOST_PENDING = 50  # items, all of which an assistant must read
_SPARE = 10  # extra results, to replace hidden ones
_INDEXING = threading.Lock()


# --- notes: only indexed ones that the viewer may see


def ensure_indexed(vault: Vault) -> Vault:
    """The vault, indexed at least once; only one of several threads indexes it."""
    if not vault.is_indexed():
        with _INDEXING:
            if not vault.is_indexed():
                vault.sync()
    return vault


def note_path(vault: Vault, name: str, to: Viewer) -> str:
    """The path of a note by path, title or alias. Also raises NoteNotFoundError if the viewer may not see it."""
    if len(name) > MOST_NAME or any(part.startswith(".") for part in name.split("/")):
        advice = "memory_search finds notes by their words"
        raise NoteNotFoundError(f"no note is called {name[:60]!r}; {advice}")
    but = frozenset(ensure_indexed(vault).searcher().hidden_from(to))
    return vault.find_note(name, but=but, is_hidden=lambda path: is_hidden(vault, path, to))


def is_hidden(vault: Vault, path: str, to: Viewer) -> bool:
    """Whether the viewer may not see the note as it is now, which the index may not know yet, or it belongs to a
    conversation."""
    folder = vault.config.text("memory_folder")
    if in_conversation(path, folder):
        return True
    text = files.read(vault.path, path, vault.config.number("index.max_note_bytes")).text
    return bool(hidden_now(text, to, memory=path.startswith(f"{folder}/")))


# --- memories


def write(vault: Vault, call: Call) -> Outcome:
    """memory_write."""
    record: Record = vault.ask("write", **call.arguments, by=call.client, agent=call.client)
    data = {**to_data(record), **{name: record[name] for name in ("created", "duplicate_of")}}
    if record.get("replaced"):
        data["replaced"] = record["replaced"]
    done = "written" if record["created"] else "known already"
    title = f"{quote(str(record['title']))} ({facts(record)})"
    return Outcome(f"{done}: {title}{_clashes(record, data)}", data)


def _clashes(record: Record, data: Record) -> str:
    """The memories that are similar to a new one or contradict it."""
    lines = ""
    for name in ("contradicts", "similar"):
        if others := _records(record, name):
            data[name] = [{"id": memory.get("id")} for memory in others]
            titles = (
                f"{quote(str(memory['title']))} ({short_id(memory.get('id'))})" for memory in others
            )
            lines += f"\n{name}: " + "; ".join(titles)
    if same := _records(record, "same_as"):
        data["same_as"] = [{"id": memory["id"], "merges": memory["merges"]} for memory in same]
    for memory in same:
        then = "a dream merges the two; undo reverts that" if memory["merges"] else "both stay"
        lines += (
            f"\nsays the same as {quote(str(memory['title']))} ({short_id(memory['id'])}): {then}"
        )
    if record.get("replaced"):
        lines += "\nreplaced: what this contradicts went to the archive"
    if taken := _records(record, "redacted"):
        lines += f"\nremoved, as memories must not contain it: {', '.join(map(str, taken))}"
    return lines


def _records(record: Record, name: str) -> list[Record]:
    value = record.get(name)
    return value if isinstance(value, list) else []


def read(vault: Vault, call: Call) -> Outcome:
    """memory_read: a memory, or a note if no memory has that name."""
    try:
        record: Record = vault.ask("read", **call.arguments, by=call.client)
    except NoteNotFoundError:
        path = note_path(vault, call.text("id"), call.viewer)
        note = files.read(vault.path, path, MAX_BYTES)
        if not note.hash:
            moved = f"{path!r} cannot be read now; it was moved, or is not a regular file"
            raise NoteNotFoundError(moved) from None
        text = vault.searcher().with_references(note.text, call.viewer)
        return Outcome(f"{quote(path)}\n{fence(text)}", {"path": path})
    title = quote(str(record["title"]))
    content = fence(str(record.get("text") or record["content"]))
    return Outcome(f"{title} ({facts(record)})\n{content}", to_data(record))


def delete(vault: Vault, call: Call) -> Outcome:
    """memory_delete."""
    record = vault.delete(call.text("id"), by=call.client)
    data = {"id": record["id"], "deleted": True, "path": record["path"]}
    title = f"{quote(record['title'])} ({short_id(record['id'])})"
    return Outcome(f"moved to the archive: {title}", data)


def list_memories(vault: Vault, call: Call) -> Outcome:
    """memory_list."""
    answer: Record = vault.ask("list", **call.arguments, by=call.client)
    records, total = _records(answer, "memories"), int(str(answer["total"]))
    places = [{"id": record["id"], "path": record["path"]} for record in records]
    part = f"{len(records):,} of " if len(records) < total else ""
    text = listing(
        part + plural(total, "memory", "memories"), map(memory_line, records), "no memories"
    )
    return Outcome(text, {"memories": places, "count": len(records), "total": total})


def tag(vault: Vault, call: Call) -> Outcome:
    """memory_tag."""
    id_, remove = call.text("id"), call.texts("remove")
    record = vault.tag(id_, *call.texts("add"), remove=remove, by=call.client)
    data = {**to_data(record), "tags": record["tags"], "changed": record["changed"]}
    title = f"{quote(str(record['title']))} ({facts(record)})"
    return Outcome(f"tags: {', '.join(record['tags']) or 'none'}\n{title}", data)


def recall(vault: Vault, call: Call) -> Outcome:
    """memory_recall."""
    answer = ensure_indexed(vault).ask("recall", **call.arguments, by=call.client)
    memories = answer["memories"]
    text = block(map(entry, memories))
    if ids := [short_id(memory["id"]) for memory in memories if memory["kind"] == "memory"]:
        text += f"\nids of the memories, in this order: {', '.join(ids)}"
    held_back = held_back_line(answer.get("held_back", ()), typed=False)
    remarks = [f"({one_line(remark)})" for remark in answer.get("remarks", ())]
    for line in filter(None, (held_back, older_line(answer["left_out"], typed=False), *remarks)):
        text += f"\n{line}"
    names = "id path line end_line memory_type score tokens vouched".split()
    places = [
        {name: memory[name] for name in names if memory.get(name) is not None}
        for memory in memories
    ]
    names = "tokens budget_used left_out held_back remarks".split()
    counts = {name: answer[name] for name in names if name in answer}
    return Outcome(text, {"memories": places, "count": len(memories), **counts})


# --- reminders


def remind(vault: Vault, call: Call) -> Outcome:
    """memory_remind."""
    record: Record = vault.ask("remind", **call.arguments, by=call.client, agent=call.client)
    data = {**to_data(record), "remind": record["remind"], "created": record["created"]}
    done = "reminds on" if record["created"] else "already exists, and reminds on"
    also = cast("list[str]", record.get("also", []))
    data |= {"also": also} if also else {}
    times = " and ".join(sorted([str(record["remind"]), *also]))
    when = ", ".join(filter(None, [times, str(record.get("repeat") or "")]))
    title = f"{quote(str(record['title']))} ({facts({**record, 'remind': '', 'repeat': ''})})"
    return Outcome(f"{done} {when}: {title}{_clashes(record, data)}", data)


def pending(vault: Vault, call: Call) -> Outcome:
    """memory_pending."""
    every = ensure_indexed(vault).pending(days=call.number("days"), by=call.client)
    recent = sum(item["section"] != OLDER for item in every)  # the others are the last
    offset = call.number("offset")
    end = min(offset + MOST_PENDING, recent if offset < recent else len(every))
    listed = every[offset:end]  # notes are read for these alone
    items = [item for item in listed if not is_hidden(vault, note_of(item), call.viewer)]
    lines = [_pending_line(item) for item in items]
    if more := max(recent - end, 0):
        lines.append(f"- and {more:,} more (offset {end})")
    if older := len(every) - max(end, recent):
        lines.append(f"- and {older:,} overdue for more than two weeks (offset {max(end, recent)})")
    names = ("id", "section", "due", "source")
    data = [{name: item[name] for name in names if item.get(name)} for item in items]
    count = len(every) - len(listed) + len(items)
    nothing = f"no more, of {count:,} pending" if count else "nothing is pending"
    return Outcome(listing(f"{count:,} pending", lines, nothing), {"items": data, "count": count})


def _pending_line(item: Record) -> str:
    when = " ".join(str(item[name]) for name in ("section", "due") if item.get(name))
    details = [f"by {quote(str(item['author']))}"] if item.get("author") else []
    details += [quote(str(item[name])) for name in ("repeat", "source") if item.get(name)]
    tail = f" ({', '.join(details)})" if details else ""
    return f"- {item['id']} {when}: {quote(str(item['text']), WORDS)}{tail}"


def done(vault: Vault, call: Call) -> Outcome:
    """memory_done."""
    report = ensure_indexed(vault).done(call.text("id"), by=call.client)
    data = {name: report[name] for name in ("id", "state", "was", "changed")}
    state = "done" if report["changed"] else f"was {report['was']} already"
    return Outcome(f"{state}: {quote(report['text'])} ({data['id']})", data)


# --- search


def search(vault: Vault, call: Call) -> Outcome:
    """memory_search."""
    hits = islice(_hits(ensure_indexed(vault), call, semantic=None), call.number("limit"))
    return _results(vault, call, [(hit, hit.score) for hit in hits])


def smart_search(vault: Vault, call: Call) -> Outcome:
    """memory_smart_search: words and meaning, then tags of the query, links among the best results, and recency."""
    limit = call.number("limit")
    hits = list(islice(_hits(ensure_indexed(vault), call, semantic=True), limit * MORE))
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    few = [hit.path for hit in hits[:LINKING] if not hit.archived]
    linked = {link.target for path in few for link in vault.links(path) if link.target != path}
    words = {word.lower().strip("#.,?!") for word in call.text("query").split() if len(word) > 2}
    tags = words | {tag.lower().lstrip("#") for tag in call.texts("tags")}
    now = clock.seconds()
    weighed = []
    for hit in hits:
        score = hit.score / best + RECENT_SHARE * _recency(hit, now)
        score += TAG_SHARE * bool(tags & _tags(hit)) + LINK_SHARE * (hit.path in linked)
        weighed.append((hit, round(score, 3)))
    weighed.sort(key=lambda pair: (bool(pair[0].archived), -pair[1]))
    return _results(vault, call, weighed[:limit])


def related(vault: Vault, call: Call) -> Outcome:
    """memory_related."""
    path = note_path(vault, call.text("id"), call.viewer)
    every = vault.related(path, limit=min(call.number("limit"), TOOL_RESULTS))
    # The words that both share would be revealed.
    near = [note for note in every if not is_hidden(vault, note.path, call.viewer)]
    data = [{"path": note.path, "score": note.score} for note in near]
    lines = [
        f"- {_place(note.title, note.path)}: {'; '.join(map(quote, note.reasons))}" for note in near
    ]
    text = listing(f"near {quote(path)}", lines, "nothing is near")
    return Outcome(text, {"path": path, "related": data, "count": len(near)})


def _hits(vault: Vault, call: Call, *, semantic: bool | None) -> Iterator[Hit]:
    """Visible hits, best first; hits in conversations only if one is named as scope."""
    folder = vault.config.text("memory_folder")
    notes = call.flag("notes", default=True)
    limit = min(call.number("limit"), TOOL_RESULTS) * (MORE if semantic else 1) + _SPARE
    only_memories = () if notes else (Filter("path", f"{folder}/"),)
    options = {**call.arguments, "since": call.text("from"), "until": call.text("to")}
    filters = (*only_memories, *filters_of({**options, "tags": ()} if semantic else options))
    ask = Ask(call.text("query"), limit, semantic, "note", filters, viewer=call.viewer)
    for hit in vault.answer(ask).results:
        is_memory = hit.path.startswith(f"{folder}/")
        is_other = in_conversation(hit.path, folder) and not is_talk(call.text("scope"))
        if (notes or is_memory) and not is_other:
            yield hit


def _results(vault: Vault, call: Call, hits: list[tuple[Hit, float]]) -> Outcome:
    whose = attributions(vault, ((hit.path, hit.properties) for hit, _ in hits), call.viewer)
    places: list[Record] = []
    lines: list[str] = []
    for hit, score in hits:
        id_field = {"id": hit.properties["id"]} if hit.properties.get("id") else {}
        away = {"archived": hit.archived} if hit.archived else {}
        places.append({**id_field, "path": hit.path, "line": hit.line, "score": score, **away})
        lines.append(_hit_line(hit, whose))
    how = ", by meaning alone" if all(hit.is_only_near for hit, _ in hits) else ""
    text = listing(f"{len(hits)} found{how}", lines, "nothing found")
    return Outcome(text, {"results": places, "count": len(hits)})


def _hit_line(hit: Hit, whose: Mapping[str, str]) -> str:
    """A hit in one line: note and line, a memory's id and day, an attribution, and the matching words."""
    properties = {name: hit.properties.get(name) for name in ("id", "created_at")}
    properties["attribution"] = whose.get(hit.path)
    details = ", ".join(filter(None, (facts(properties), hit.archived)))
    where = f"{_place(hit.title, hit.path)}:{hit.line}{f' ({details})' if details else ''}"
    return f"- {where}: {quote(hit.snippet or hit.content)}"


def _place(title: str, path: str) -> str:
    """A note by its path, and by its title unless the path has it."""
    place = quote(path, MOST_PATH)
    return place if title in path else f"{quote(title)}, {place}"


def _tags(hit: Hit) -> set[str]:
    tags = hit.properties.get("tags")
    return {str(tag).lower() for tag in tags} if isinstance(tags, list) else set()


def _recency(hit: Hit, now: float) -> float:
    created = seconds(hit.properties.get("created_at"))
    return 0.0 if created is None else math.exp(-max(0.0, now - created) / 86_400 / RECENT)


_RUN: dict[str, Run] = {
    "write": write, "read": read, "delete": delete, "list": list_memories, "search": search, "tag": tag,
    "smart-search": smart_search, "recall": recall, "remind": remind, "pending": pending, "done": done,
    "related": related,
}  # fmt: skip


def answer_of(name: str) -> Run:
    """The function of a tool whose verb has no text of its own here: prints the answer as fenced JSON. The verb must
    take `by`, and answer only what that assistant may see."""

    def run(vault: Vault, call: Call) -> Outcome:
        answer = vault.ask(name, **call.arguments, by=call.client)
        return Outcome(fence(json.dumps(answer, ensure_ascii=False, indent=1, default=str)), {})

    return run


def _tool(name: str, verb: Verb) -> Tool:
    exposed = verb.tool
    assert exposed is not None
    marks = Annotations(not verb.writes, exposed.removes, idempotent=True)
    tool_name, schema = f"memory_{name.replace('-', '_')}", of_tool(verb, exposed)
    run = _RUN.get(name) or answer_of(name)
    return Tool(tool_name, "", exposed.about, schema, marks, run, tuple(exposed.quiet))


_VERBS = {name: verb for name, verb in every().items() if verb.tool}
TOOLS = tuple(_tool(name, _VERBS[name]) for name in dict.fromkeys((*_RUN, *_VERBS)))
