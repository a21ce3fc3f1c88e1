"""Which memory a person or an assistant means by what they typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from vaultmem.core.memory import Memory
from vaultmem.errors import NoteNotFoundError
from vaultmem.store.memory_file import folded

_SHORTEST = 4  # characters of the beginning of an id
_ID_BEGIN = re.compile(r"[0-9a-z][0-9a-z-]*")
_LINK = re.compile(r"\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\]")
_SHOWN = 5
_NEAR = 0.5  # share of letter pairs from which a title is worth asking about


def chosen(given: str, folder: str, pool: Sequence[Memory]) -> Memory | None:
    """The memory with this id, path, title or beginning of an id, looked for in that order; None when there
    is none. Raises NoteNotFoundError when it could be several."""
    name = _bare(given)
    if not name:
        return None
    paths = {
        f"{prefix}{name}{ending}" for prefix in ("", f"{folded(folder)}/") for ending in ("", ".md")
    }
    last = name.rpartition("/")[2]
    tails = {last, last.removesuffix(".md")}
    for found in _ways(name, paths, tails, pool):
        if len(found) > 1:
            raise _several(given, found)
        if found:
            return found[0]
    return None


def _ways(
    name: str, paths: set[str], tails: set[str], pool: Sequence[Memory]
) -> Iterator[list[Memory]]:
    """Who has the name as an id, a path, a title or the beginning of an id. Of ten thousand memories no more are
    looked at closely than those whose file is called so."""
    yield [memory for memory in pool if memory.id.lower() == name]
    called = [memory for memory in pool if folded(memory.title) in tails]
    yield [memory for memory in called if folded(memory.path) in paths]
    yield [memory for memory in called if folded(memory.title) == name]
    if len(name) >= _SHORTEST and _ID_BEGIN.fullmatch(name):
        yield [memory for memory in pool if memory.id.lower().startswith(name)]


def unknown(given: str, live: Iterable[Memory]) -> NoteNotFoundError:
    """What to say when nothing answers."""
    near = _nearest(_bare(given), live)
    hint = "vaultmem list shows what there is"
    if near:
        hint = f"did you mean {' or '.join(repr(title) for title in near)}?"
    return NoteNotFoundError(
        f"Memory not found: nothing has the id, title or path {_short(given)!r}; {hint}"
    )


def deleted(memory: Memory) -> NoteNotFoundError:
    """What to say when it is in the archive."""
    day = memory.text("deleted_at")[:10]
    when = f" on {day}" if day else ""
    return NoteNotFoundError(
        f"Memory not found: {memory.title!r} was deleted{when}; vaultmem restore {memory.id[:8]} brings it back"
    )


def _bare(given: str) -> str:
    link = _LINK.fullmatch(given.strip())
    return folded((link[1] if link else given).strip())


def _short(given: str) -> str:
    return given if len(given) <= 100 else f"{given[:99]}…"


def _several(given: str, found: Sequence[Memory]) -> NoteNotFoundError:
    more = ", …" if len(found) > _SHOWN else ""
    if len({memory.id for memory in found}) < len(found):
        paths = ", ".join(memory.path for memory in found[:_SHOWN])
        return NoteNotFoundError(
            f"{_short(given)!r} could mean {len(found)} memories: {paths}{more}; name one by its path"
        )
    shown = ", ".join(f"{memory.id[:8]} {memory.title}" for memory in found[:_SHOWN])
    return NoteNotFoundError(
        f"{_short(given)!r} could mean {len(found)} memories: {shown}{more}; give more of the id"
    )


def _nearest(name: str, live: Iterable[Memory]) -> list[str]:
    """Up to three titles that look like it, the likeliest first."""
    wanted = set(pairwise(name[:200]))
    if not wanted:
        return []
    scored: list[tuple[float, str]] = []
    for memory in live:
        pairs = set(pairwise(folded(memory.title)))
        score = 2 * len(wanted & pairs) / (len(wanted) + len(pairs))
        if score >= _NEAR:
            scored.append((-score, memory.title))
    return [title for _, title in sorted(scored)[:3]]
