"""How results from several vaults are merged, and how a slow one is reported."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.client_run import deaf_agent
from vaultmem_server import link, rest
from vaultmem_server.link import JsonObject, LinkError

SCORES = st.lists(st.floats(0, 1e6), max_size=8).map(lambda some: sorted(some, reverse=True))


def merged(
    vaults: dict[str, list[float]], down: tuple[str, ...] = (), **params: object
) -> JsonObject:
    async def ask(vault: str, own: JsonObject) -> dict[str, list[JsonObject]]:
        if vault in down:
            raise LinkError(-1, f"{vault} is away")
        limit = own.get("limit", 10)
        assert isinstance(limit, int)
        scores = vaults[vault][:limit]
        return {"results": [{"path": f"{n}.md", "score": one} for n, one in enumerate(scores)]}

    return asyncio.run(rest.merged_search(ask, list(vaults), dict(params)))


@given(st.dictionaries(st.sampled_from("abcdefghijkl"), SCORES, min_size=1), st.integers(1, 20))
@example({name: [0.0] * 8 for name in "abcdefghijkl"}, 10)
@example({name: [2.0] * 3 for name in "abcdefghijkl"}, 16)
def test_merged_results_keep_each_vault_s_order_and_balance_them(
    vaults: dict[str, list[float]], limit: int
) -> None:
    answer = merged(vaults, limit=limit)
    results = answer["results"]
    assert isinstance(results, list)
    assert len(results) == answer["count"] == min(limit, sum(map(len, vaults.values())))
    for name, scores in vaults.items():
        own = [result["score"] for result in results if result["vault"] == name]
        assert own == scores[: len(own)]
    shares = [result["score"] / max(vaults[result["vault"]][0], 5e-324) for result in results]
    assert shares == sorted(shares, reverse=True)
    ranked = [
        (-score / max(own[0], 5e-324), -score, place, name, f"{n}.md")
        for place, (name, own) in enumerate(vaults.items())
        for n, score in enumerate(own)
    ]
    best = sorted(ranked, key=lambda one: one[:3])[:limit]
    assert [(result["vault"], result["path"]) for result in results] == [one[3:] for one in best]


def test_an_unreachable_vault_is_named_and_the_others_answer() -> None:
    vaults = {"home": [12.0, 3.0], "work": [900.0, 450.0]}
    answer = merged(vaults)
    assert isinstance(answer["results"], list)
    assert [(one["vault"], one["score"]) for one in answer["results"]] == [
        ("work", 900.0), ("home", 12.0), ("work", 450.0), ("home", 3.0),
    ]  # fmt: skip
    assert merged(vaults, ("work",))["missing"] == {"work": "work is away"}
    with pytest.raises(LinkError, match="home is away"):
        merged(vaults, ("work", "home"))


def test_an_agent_that_takes_long_may_still_do_it(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dream that the page starts can take minutes: it has not failed when the page stops waiting."""
    monkeypatch.setattr(link, "PATIENCE", 0.1)
    with deaf_agent(vault), pytest.raises(LinkError, match="may still carry that out") as error:
        asyncio.run(link.Link(str(vault)).call("jobs.run", {"name": "dream"}))
    assert error.value.status == 503
