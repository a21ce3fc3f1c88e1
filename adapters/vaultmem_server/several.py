"""One search over several vaults of a door: each vault's own index is asked, and what they find is merged.

Scores of two indexes cannot be compared: a word is rare in one vault and common in another. So each counts as its
share of the best score in its vault, and of equal shares the higher score comes first.
"""

from __future__ import annotations

import asyncio
import itertools
import math
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

    def rank(self) -> tuple[float, float]:
        """What orders results, the best first."""
        return -self.share, -self.score


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
    LinkError of the first one where none has.

    Of many vaults each has few results among the best: they are asked for few first, and for all only where one that
    was not sent could be among the best, too."""
    named = params.get("limit")
    limit = named if isinstance(named, int) else _LIMIT
    few = 2 * -(-limit // len(vaults))
    few = few if 0 < 2 * few <= limit else limit
    found: dict[str, list[Found]] = {}
    missing: dict[str, LinkError] = {}

    async def best_with(names: Sequence[str], own: JsonObject) -> list[Found]:
        answers = await asyncio.gather(
            *(ask(vault, dict(own)) for vault in names), return_exceptions=True
        )
        for vault, answer in zip(names, answers, strict=True):
            if isinstance(answer, LinkError):
                missing[vault] = answer
                found.pop(vault, None)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                found[vault] = _scale(vault, answer)
        return sorted(itertools.chain(*found.values()), key=Found.rank)[:limit]

    best = await best_with(vaults, params if few == limit else {**params, "limit": few})
    if few < limit:
        last = best[-1].rank() if len(best) == limit else (math.inf,)
        if more := [v for v, own in found.items() if len(own) == few and own[-1].rank() <= last]:
            best = await best_with(more, params)
    if missing and not found:
        raise missing[vaults[0]]
    results = [{"vault": one.vault, **one.result} for one in best]
    told = {vault: str(error) for vault, error in missing.items()}
    return {"results": results, "count": len(results), **({"missing": told} if told else {})}


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
