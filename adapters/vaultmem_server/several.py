"""One search over several vaults of a door: each vault's own index is asked, and what they find is merged.

Scores of two indexes cannot be compared: a word is rare in one vault and common in another. So each counts as its
share of the best score in its vault, and of equal shares the higher score comes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from starlette.exceptions import HTTPException

from vaultmem_server.link import JsonObject, LinkError

VERB, NAMES, ALL = "search", "vaults", "*"
_LIMIT = 10  # as search has it


class Found(NamedTuple):
    """One result of one vault."""

    share: float  # of the best score of its vault
    score: float
    vault: str
    result: JsonObject


def chosen(named: object, mine: Sequence[str]) -> list[str]:
    """The vaults that a request names, out of those that the token opens: a list of names, or "*" for all of them."""
    if named == ALL:
        return list(mine)
    names = list(dict.fromkeys(named)) if isinstance(named, list) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise HTTPException(400, f'"{NAMES}" must be a list of names of vaults, or "{ALL}"')
    if unknown := [name for name in names if name not in mine]:
        raise HTTPException(404, f"no vault {str(unknown[0])[:40]!r} for this token")
    return names


async def search(
    ask: Callable[[str, JsonObject], Awaitable[object]], vaults: Sequence[str], params: JsonObject
) -> JsonObject:
    """The best of all vaults, each result with its vault; `missing` says why a vault has not answered. Raises the
    LinkError of the first one where none has."""
    answers = await asyncio.gather(
        *(ask(vault, dict(params)) for vault in vaults), return_exceptions=True
    )
    found: list[Found] = []
    missing: dict[str, str] = {}
    for vault, answer in zip(vaults, answers, strict=True):
        if isinstance(answer, LinkError):
            missing[vault] = str(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found += _scale(vault, answer)
    if len(missing) == len(vaults):
        raise next(answer for answer in answers if isinstance(answer, LinkError))
    found.sort(key=lambda one: (-one.share, -one.score))
    limit = params.get("limit")
    best = found[: limit if isinstance(limit, int) else _LIMIT]
    results = [{"vault": one.vault, **one.result} for one in best]
    return {"results": results, "count": len(results), **({"missing": missing} if missing else {})}


def _scale(vault: str, answer: object) -> list[Found]:
    results = answer.get("results") if isinstance(answer, Mapping) else None
    rows = [dict(one) for one in results or () if isinstance(one, Mapping)]
    scores = [_score(one) for one in rows]
    best = max(scores, default=0.0)
    return [
        Found(score / best if best > 0 else 0.0, score, vault, row)
        for score, row in zip(scores, rows, strict=True)
    ]


def _score(result: Mapping[str, object]) -> float:
    score = result.get("score")
    return float(score) if isinstance(score, (int, float)) else 0.0
