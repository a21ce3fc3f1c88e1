"""The tools that find: by words, by everything that tells, and what is near."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from vaultmem import now as clock
from vaultmem.core import private
from vaultmem.core.conversation import is_talk
from vaultmem.core.places import ARCHIVE, in_conversation
from vaultmem.core.query import Filter, day_range
from vaultmem.core.stamps import seconds
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import UsageError
from vaultmem.search import Ask, Result
from vaultmem.tools.notes import check_public, is_private, note_path, ready
from vaultmem.tools.shown import lines, memory_line, quoted
from vaultmem.tools.tool import Call, Outcome

if TYPE_CHECKING:
    from vaultmem.api import Vault

    Found = dict[str, object]

LIMIT = 10
MORE = 3  # times as many candidates are weighed
LINKING = 5  # of the best, whose links are followed
# How much each sign adds to a result whose words fit best of all, which count 1.
TAG_SHARE, LINK_SHARE, RECENT_SHARE = 0.3, 0.2, 0.2
RECENT = 30.0  # days
_DAY = 86_400.0
_SPARE = 10  # results more than wanted, in place of those that may not be shown


def search(vault: Vault, call: Call) -> Outcome:
    """memory_search."""
    limit = call.number("limit", LIMIT, 1, 100)
    found = list(islice(_hits(ready(vault), call, semantic=False), limit))
    return _told([{**_shown(hit), "score": hit.score} for hit in found])


def smart_search(vault: Vault, call: Call) -> Outcome:
    """memory_smart_search: words and meaning, then tags that were asked for, links among the best, and recency."""
    limit = call.number("limit", LIMIT, 1, 100)
    hits = list(islice(_hits(ready(vault), call, semantic=True), limit * MORE))
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    linked = _linked(vault, [hit.path for hit in hits[:LINKING]])
    tags = {tag.lower().lstrip("#") for tag in call.texts("tags")} | _tag_words(call.text("query"))
    now = clock.seconds()
    weighed = []
    for hit in hits:
        signs = {
            "words and meaning": hit.score / best,
            "tags": TAG_SHARE if tags & _tags(hit) else 0.0,
            "links": LINK_SHARE if hit.path in linked else 0.0,
            "recency": RECENT_SHARE * _recency(hit, now),
        }
        said = {name: round(points, 3) for name, points in signs.items() if points}
        weighed.append({**_shown(hit), "score": round(sum(signs.values()), 3), "signs": said})
    weighed.sort(key=lambda one: -float(str(one["score"])))
    return _told(weighed[:limit])


def related(vault: Vault, call: Call) -> Outcome:
    """memory_related."""
    path = note_path(vault, call.text("id"))
    check_public(vault, path)
    near = vault.related(path, limit=call.number("limit", LIMIT, 1, 100))
    folder = vault.config.text("memory_folder")
    found: list[Found] = []
    each: list[str] = []
    for one in near:
        if is_private(vault, one.path) or in_conversation(one.path, folder):
            continue  # the words that both share would be told
        reasons = [quoted(reason) for reason in one.reasons]
        title = quoted(one.title)
        found.append({"title": title, "path": one.path, "score": one.score, "reasons": reasons})
        each.append(f"- {title} ({quoted(one.path)}): {'; '.join(reasons)}")
    return Outcome(
        lines(f"near {quoted(path)}", each, "nothing is near"),
        {"path": path, "related": found, "count": len(found)},
    )


def _hits(vault: Vault, call: Call, *, semantic: bool) -> Iterator[Result]:
    """What fits and may be shown, the best first; of memories only, unless notes are wanted."""
    folder = vault.config.text("memory_folder")
    notes = call.flag("notes")
    limit = call.number("limit", LIMIT, 1, 100) * (MORE if semantic else 1) + _SPARE
    given = () if notes else (Filter("path", f"{folder}/"),)
    filters = (*given, *_filters(call, semantic=semantic))
    for hit in vault.answer(Ask(call.text("query"), limit, semantic, "note", filters)).results:
        is_memory = hit.path.startswith(f"{folder}/")
        if (notes or is_memory) and not _is_hidden(hit, folder, call.text("scope")):
            yield hit


def _is_hidden(hit: Result, folder: str, scope: str) -> bool:
    """What is said in a conversation is nobody's memory yet: it is shown to whoever asks for that conversation."""
    if private.is_private(hit.properties) or hit.path.startswith(f"{folder}/{ARCHIVE}/"):
        return True
    return in_conversation(hit.path, folder) and not is_talk(scope)


def _filters(call: Call, *, semantic: bool) -> Iterator[Filter]:
    if not semantic:  # there, tags only weigh
        yield from (Filter("tag", tag.lstrip("#")) for tag in call.texts("tags") if tag.strip("# "))
    for name in ("scope", "phase", "category"):
        if given := call.text(name):
            yield Filter(name, given)
    for name in ("from", "to"):
        if given := call.text(name):
            if day_range(given) is None:
                raise UsageError(f'"{name}" must be a day, YYYY-MM-DD, not {given[:40]!r}')
            yield Filter(name, given)


def _shown(hit: Result) -> Found:
    kept = {name: hit.properties.get(name) for name in ("id", "scope", "created_at")}
    found = {
        **kept, "title": quoted(hit.title), "path": hit.path, "line": hit.line, "category": hit.category or None,
        "text": quoted(hit.snippet or hit.content),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def _told(found: list[Found]) -> Outcome:
    each = (memory_line({"id": one.get("id") or one["path"], **one}) for one in found)
    return Outcome(
        lines(f"{len(found)} found", each, "nothing found"), {"results": found, "count": len(found)}
    )


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
