"""A model's advice about two memories, and what is sent to it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.advised import LISBON, ODD, PORTO, advice, items_of, model, of_model, tree
from tests.conftest import Write
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import as_json, hang_up, status, text
from vaultmem import Vault
from vaultmem.memories.model import Memory
from vaultmem.memories.view import View
from vaultmem.review.advice import MOST_OF_ONE

__all__ = ["model"]  # fixtures

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> dict[frozenset[str], float]:
    """How near memories are in meaning, by their text; 0.0 for all others."""
    known: dict[frozenset[str], float] = {}

    def alike(view: View, memory: Memory, least: float) -> Sequence[tuple[str, float]]:
        mine = view.content(memory).strip()
        pairs = [
            (other.path, known.get(frozenset((mine, view.content(other).strip())), 0.0))
            for other in view.memories()
            if other.path != memory.path
        ]
        return sorted(
            (pair for pair in pairs if pair[1] >= least), key=lambda one: (-one[1], one[0])
        )

    monkeypatch.setattr(View, "alike", alike)
    return known


def pairs_in(model: ScriptedLlm) -> list[dict[str, str]]:
    return [one for asked in model.chats for one in items_of(asked) if "first" in one]


TRAIN, RAIL = "Anne likes to go by train", "Trains are what Anne likes to travel with"


def two(vault: Vault, one: str, other: str, **about: str) -> tuple[str, str]:
    """Two memories of one category. Returns their ids."""
    given = {"category": "people", **about}
    return (
        vault.write(one, **given)["id"],  # type: ignore[arg-type] # tests
        vault.write(other, **given)["id"],  # type: ignore[arg-type] # tests
    )


@pytest.fixture
def alike(model: ScriptedLlm, opened: Vault, near: dict[frozenset[str], float]) -> tuple[str, str]:
    """Two memories that the model considers the same. Returns their ids."""
    ids = two(opened, TRAIN, RAIL)
    near[frozenset((TRAIN, RAIL))] = 0.85
    model.otherwise = advice(pair="same")
    opened.dream(3)
    return ids


def test_a_proposed_merge_keeps_every_word(
    vault: Path, model: ScriptedLlm, opened: Vault, alike: tuple[str, str]
) -> None:
    (one,) = of_model(opened)
    assert one["kind"] == "merge"
    assert len(pairs_in(model)) == 1
    before = tree(vault)
    assert len(opened.memories()) == 2
    opened.accept(str(one["id"]))
    (left,) = opened.memories()
    assert TRAIN in left["content"]
    assert RAIL in left["content"]
    assert left["id"] in alike
    (gone,) = opened.memories(deleted=True)
    assert gone["id"] in alike
    opened.undo(last=True)
    assert tree(vault) == before


def test_outdated_advice_is_not_counted(vault: Path, alike: tuple[str, str], opened: Vault) -> None:

    def count() -> int:
        opened.sync()
        return int(opened.ask("pending")["review"])

    assert len(of_model(opened)) == 1
    before = count()
    path = vault / opened.read(alike[0])["path"]
    path.write_text(path.read_text().replace("---\n", "---\nproject: trips\n", 1))
    assert of_model(opened) == []
    assert count() == before - 1


MORE = " It was a long evening." * 20  # a text that states more than one thing replaces nothing
BERLIN, PARIS = f"Anne lives in Berlin.{MORE}", f"Anne lives in Paris.{MORE}"  # rules decide that


@pytest.mark.parametrize(
    ("holds", "texts"),
    [("first", (LISBON, PORTO)), ("second", (LISBON, PORTO)), ("second", (BERLIN, PARIS))],
)
def test_of_two_that_contradict_each_other_one_is_archived(
    model: ScriptedLlm,
    opened: Vault,
    near: dict[frozenset[str], float],
    holds: str,
    texts: tuple[str, str],
) -> None:
    vault = Path(opened.path)
    two(opened, *texts)
    near[frozenset(texts)] = 0.9
    model.otherwise = advice(pair=holds, reason="she cannot be at two places")
    opened.dream(3)
    (one,) = of_model(opened)
    assert one["kind"] == "contradiction"
    assert "she cannot be at two places" in str(one)
    before = tree(vault)
    done = opened.accept(str(one["id"]))
    assert done["path"].startswith("vaultmem/archive/")
    (left,), (away,) = opened.memories(), opened.memories(deleted=True)
    assert left["content"] == pairs_in(model)[0][holds]
    assert {left["content"], away["content"]} == set(texts)
    assert f"replaced_by={left['id']}" in (vault / done["path"]).read_text()
    opened.undo(last=True)
    assert tree(vault) == before


@pytest.mark.parametrize(
    "other", [{"scope": "agent:claude"}, {"agent": "claude"}, {"project": "x"}, {"source": "web"}]
)
def test_what_belongs_to_others_is_compared_with_nothing_of_ours(
    model: ScriptedLlm, opened: Vault, near: dict[frozenset[str], float], other: dict[str, str]
) -> None:
    opened.write(LISBON, category="people")
    opened.write(PORTO, category="people", **other)  # type: ignore[arg-type] # tests
    near[frozenset((LISBON, PORTO))] = 0.9
    model.otherwise = advice(pair="second")
    opened.dream(3)
    assert not pairs_in(model)
    assert not [one for one in of_model(opened) if one["kind"] == "contradiction"]


def test_no_more_is_sent_than_texts_of_memories_that_are_not_private(
    vault: Path, model: ScriptedLlm, opened: Vault, write: Write, near: dict[frozenset[str], float]
) -> None:
    write("Own.md", "grotto of mine, zzz qqq\n")
    write("vaultmem/Stray.md", "stray words, zzz qqq\n")
    write("vaultmem/entries/talk/facts/a.md", "---\nid: 1\n---\nentry words, zzz\n")
    opened.write(f"{ODD} {SECRET} {'plugh ' * 400}")
    hidden = opened.write("zzz plover frobnicate")
    path = vault / hidden["path"]
    path.write_text(path.read_text().replace("---\n", "---\nPrivate: Yes\n", 1))
    gone = opened.write("zzz dwarvish axe")
    opened.delete(gone["id"])
    for text_ in (LISBON, PORTO):
        made = opened.write(f"{text_}, in the grotto", category="people")
        file = vault / made["path"]
        file.write_text(file.read_text().replace("---\n", "---\nprivate: true\n", 1))
    near[frozenset((f"{LISBON}, in the grotto", f"{PORTO}, in the grotto"))] = 0.9
    opened.dream(3)
    said = "\n".join(request.body.decode() for request in model.requests)
    assert "xyzzy" in said
    words = ("grotto", "stray", "entry words", "plover", "dwarvish", SECRET, "vaultmem", str(vault))
    assert not [word for word in words if word in said]
    assert max(len(one["text"]) for asked in model.chats for one in items_of(asked)) <= MOST_OF_ONE
    assert all(request.path == "/v1/chat/completions" for request in model.requests)


FAILURES = {
    "refused": status(400),
    "silence": hang_up(),
    "words": text("I would rather not."),
    "odd": as_json({"answers": [1, "two", None, {"id": 99}]}),
    "ids": as_json([{"id": 900 + n, "event": "DELETE", "text": "made up"} for n in range(3)]),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_model_that_fails_leaves_the_dream_as_it_is_without_one(
    model: ScriptedLlm, opened: Vault, name: str
) -> None:
    model.otherwise = FAILURES[name]
    for said in (ODD, "Anne prefers trains to planes", "Anne lives in Lisbon"):
        opened.write(said)
    plan = opened.dream(3, dry_run=True)
    report = opened.dream(3)
    assert report["counts"] == plan["counts"]
    assert report["proposals"] == 0
    assert opened.proposals() == []
    trouble = report["model"]["trouble"]
    assert trouble
    assert "\n" not in trouble
    assert len(model.chats) == 1, "one failure is enough"


def test_nothing_is_asked_in_a_dry_run_in_lighter_dreams_and_without_a_model(
    model: ScriptedLlm, opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.write(ODD)
    for level in (1, 2):
        assert "model" not in opened.dream(level)
    assert "model" not in opened.dream(3, dry_run=True)
    monkeypatch.setenv("VAULTMEM_LLM_BASE_URL", "")
    with Vault(opened.path) as without:
        assert "model" not in without.dream(3)
    assert model.requests == []
