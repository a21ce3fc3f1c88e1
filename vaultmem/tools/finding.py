"""The tools that find: by words, by everything that tells, and what is near."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from vaultmem import now as clock
from vaultmem.memories.approving import attributions
from vaultmem.memories.conversation import is_talk
from vaultmem.search.query import Filter
from vaultmem.search.search import Ask, Result
from vaultmem.text.times import seconds
from vaultmem.text.values import TYPE_CHECKING
from vaultmem.tools.notes import is_hidden, note_path, ready
from vaultmem.tools.shown import about, lines, quoted
from vaultmem.tools.tool import Call, Outcome
from vaultmem.vault.places import in_conversation

if TYPE_CHECKING:
    from vaultmem.api import Vault

    Found = dict[str, object]

LIMIT = 10
MOST_PATH = 1_000  # characters
MORE = 3  # times as many candidates are weighed
LINKING = 5  # of the best, whose links are followed
# How much each sign adds to a result whose words fit best of all, which count 1.
TAG_SHARE, LINK_SHARE, RECENT_SHARE = 0.3, 0.2, 0.2
RECENT = 30.0  # days
_DAY = 86_400.0
_SPARE = 10  # results more than wanted, in place of those that may not be shown


def search(vault: Vault, call: Call) -> Outcome:
    """memory_search."""
    limit = call.number("limit")
    found = islice(_hits(ready(vault), call, semantic=None), limit)
    return _told(vault, call, [(hit, hit.score) for hit in found])


def smart_search(vault: Vault, call: Call) -> Outcome:
    """memory_smart_search: words and meaning, then tags that were asked for, links among the best, and recency."""
    limit = call.number("limit")
    hits = list(islice(_hits(ready(vault), call, semantic=True), limit * MORE))
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    linked = _linked(vault, [hit.path for hit in hits[:LINKING] if not hit.archived])
    tags = {tag.lower().lstrip("#") for tag in call.texts("tags")} | _tag_words(call.text("query"))
    now = clock.seconds()
    weighed = []
    for hit in hits:
        tagged = TAG_SHARE if tags & _tags(hit) else 0.0
        near = LINK_SHARE if hit.path in linked else 0.0
        fresh = RECENT_SHARE * _recency(hit, now)
        weighed.append((hit, round(hit.score / best + tagged + near + fresh, 3)))
    weighed.sort(key=lambda one: (bool(one[0].archived), -one[1]))
    return _told(vault, call, weighed[:limit])


def related(vault: Vault, call: Call) -> Outcome:
    """memory_related."""
    path = note_path(vault, call.text("id"), call.viewer)
    near = vault.related(path, limit=call.number("limit"))
    found: list[Found] = []
    each: list[str] = []
    for one in near:
        if is_hidden(vault, one.path, call.viewer):
            continue  # the words that both share would be told
        found.append({"path": one.path, "score": one.score})
        reasons = "; ".join(quoted(reason) for reason in one.reasons)
        each.append(f"- {_named(one.title, one.path)}: {reasons}")
    return Outcome(
        lines(f"near {quoted(path)}", each, "nothing is near"),
        {"path": path, "related": found, "count": len(found)},
    )


def _hits(vault: Vault, call: Call, *, semantic: bool | None) -> Iterator[Result]:
    """What fits and may be shown, the best first."""
    folder = vault.config.text("memory_folder")
    notes = call.flag("notes", default=True)
    limit = call.number("limit") * (MORE if semantic else 1) + _SPARE
    given = () if notes else (Filter("path", f"{folder}/"),)
    filters = (*given, *_filters(call, semantic=semantic))
    asked = Ask(call.text("query"), limit, semantic, "note", filters, viewer=call.viewer)
    for hit in vault.answer(asked).results:
        is_memory = hit.path.startswith(f"{folder}/")
        if (notes or is_memory) and not _is_hidden(hit, folder, call.text("scope")):
            yield hit


def _is_hidden(hit: Result, folder: str, scope: str) -> bool:
    """What is said in a conversation is nobody's memory yet: it is shown to whoever asks for that conversation."""
    return in_conversation(hit.path, folder) and not is_talk(scope)


def _filters(call: Call, *, semantic: bool | None) -> Iterator[Filter]:
    if not semantic:  # there, tags only weigh
        yield from (Filter("tag", tag.lstrip("#")) for tag in call.texts("tags") if tag.strip("# "))
    for name in ("scope", "phase", "category"):
        if given := call.text(name):
            yield Filter(name, given)
    for name in ("from", "to"):
        if given := call.text(name):
            yield Filter(name, given)


def _told(vault: Vault, call: Call, found: list[tuple[Result, float]]) -> Outcome:
    others = attributions(vault, (hit.properties for hit, _ in found), call.viewer)
    places: list[Found] = []
    each: list[str] = []
    for hit, score in found:
        own = {"id": hit.properties["id"]} if hit.properties.get("id") else {}
        away = {"archived": hit.archived} if hit.archived else {}
        places.append({**own, "path": hit.path, "line": hit.line, "score": score, **away})
        each.append(_line(hit, others.get(str(hit.properties.get("id")))))
    return Outcome(
        lines(f"{len(found)} found", each, "nothing found"),
        {"results": places, "count": len(found)},
    )


def _line(hit: Result, whose: str | None) -> str:
    """A hit in one line: the note and the line, for a memory its id, its day and whose words it has, and the words that
    were found."""
    known = {name: hit.properties.get(name) for name in ("id", "created_at")}
    own = ", ".join(filter(None, (about({**known, "attribution": whose}), hit.archived)))
    where = f"{_named(hit.title, hit.path)}:{hit.line}{f' ({own})' if own else ''}"
    return f"- {where}: {quoted(hit.snippet or hit.content)}"


def _named(title: str, path: str) -> str:
    """A note by its path, and by its title where the path does not tell it."""
    shown = quoted(path, MOST_PATH)
    return shown if title in path else f"{quoted(title)}, {shown}"


def _linked(vault: Vault, paths: list[str]) -> set[str]:
    """What the best results link to, and those of them that others of them link to."""
    return {
        link.target
        for path in paths
        for link in vault.links(path)
        if link.target is not None and link.target != path
    }


def _tag_words(query: str) -> set[str]:
    return {word.lower().strip("#.,?!") for word in query.split() if len(word) > 2}


def _tags(hit: Result) -> set[str]:
    found = hit.properties.get("tags")
    return {str(tag).lower() for tag in found} if isinstance(found, list) else set()


def _recency(hit: Result, now: float) -> float:
    created = seconds(hit.properties.get("created_at"))
    return 0.0 if created is None else math.exp(-max(0.0, now - created) / _DAY / RECENT)
