"""Search uses words and meaning if the model is available, and filters never cut off results."""

from pathlib import Path

import pytest

from tests.agent_run import agent_on, until
from tests.cli_run import on, ran
from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Filter, Vault
from vaultmem.commands import rendering
from vaultmem.search import model_vectors

QUESTION = "python CLI preferences"
NO_WORDS = "no note has these words; the results are the nearest in meaning"
OF_FOO = {"Deploys wait for Thursday after lunch", "The user likes Typer more than Click"}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two memories about foo that share no word with the question, and many about other things; read-only."""
    vault = tmp_path_factory.mktemp("projects") / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    with Vault(str(vault)) as opened:
        for text in sorted(OF_FOO):
            opened.write(text, project="foo", category="knowledge")
        for number in range(30):
            opened.write(f"Python CLI preferences of team {number}", project="bar")
        parts = (f"## {n}\n\nA preference for python, part {n}." for n in range(300))
        (vault / "Long.md").write_text("\n\n".join(parts))
        (vault / "Home.md").write_text("A red bicycle stands in the cellar.\n")
        opened.sync()
        opened.embed()
    return vault


def contents(vault: Path, *words: str) -> set[str]:
    ended = on(vault, "search", *words, "--format", "json")
    return {one.get("content", "") for one in ended.data["results"]}


def test_of_what_filters_leave_the_best_are_found_however_far(projects: Path) -> None:
    assert contents(projects, QUESTION, "--project", "foo", "--limit", "5") == set()
    wanted = (QUESTION, "--semantic", "--project", "foo")
    assert contents(projects, *wanted, "--limit", "5") == OF_FOO
    assert contents(projects, *wanted, "--limit", "1") == {"The user likes Typer more than Click"}
    with Vault(str(projects)) as opened:
        only = Filter("path", "o")  # of Long.md and of the memories
        found = opened.search(QUESTION, limit=100, semantic=True, filters=(only,))
        assert len(found) == 34
        cosines = {one.title: one.similarity for one in found}
        far = min(cosines.values(), default=0.0, key=lambda one: one or 0.0)
        assert far is not None
        assert far < 0.25
        assert far not in [
            one.similarity for one in opened.search(QUESTION, limit=100, semantic=True)
        ]


def test_results_without_a_word_of_the_query_are_named_so(projects: Path) -> None:
    where = ("--semantic", "--path", "Home", "--vault", str(projects))
    remarks = {words: ran("search", words, *where).err for words in ("two-wheeler", "bicycle")}
    assert (NO_WORDS in remarks["two-wheeler"], NO_WORDS in remarks["bicycle"]) == (True, False)


def test_that_nothing_is_embedded_yet_is_said_once(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "FEW_BLOCKS", 0)
    write("Tea.md", "the tea\n")
    synced(vault)
    (remark,) = ran("search", "--semantic", "tea", "--vault", str(vault)).err.splitlines()
    assert "no block is embedded yet" in remark


def test_without_an_agent_it_is_by_words_and_says_so_once(projects: Path) -> None:
    where = ("--format", "json", "--vault", str(projects))
    ended = ran("search", "two-wheeler", "--json", *where)
    assert ended.data["count"] == 0
    assert ended.err.count("searched by words only") == 1
    for words in (("--keyword", "bicycle"), ("--semantic", "two-wheeler"), ("tag:none",)):
        assert "by words only" not in ran("search", *words, *where).err
    asked = b"two-wheeler\nbicycle\n"
    batch = ran("search", "--batch", *where, stdin=asked)
    assert batch.err.count("searched by words only") == 1
    assert "vaultmem start" in ended.err
    assert "agent" not in batch.err, "a batch is searched in its own process"
    assert "remarks" not in batch.out
    opening = ran("search", "two-wheeler", "--open", *where)
    assert opening.err.count("searched by words only") == 1
    assert "agent" not in opening.err, "so is one that opens its first result"
    assert ran("search", "--keyword", "--semantic", "x", *where).code == 2


def test_what_was_just_written_comes_first(opened: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although only it has no vector yet; also if a search has no time to embed it."""
    monkeypatch.setattr(model_vectors, "AT_ONCE", 0)
    for name in ("brovix", "calumet", "dorvane", "estrilo", "fandrel", "gwimbo"):
        opened.write(f"The {name} valve is in the cellar")
    opened.sync()
    opened.embed()
    opened.write("The zolpane valve is in the cellar")
    asked = "where is the zolpane valve"
    (first, *_) = opened.search(asked, semantic=True)
    assert first.title == "The zolpane valve is in the cellar"
    assert first.similarity is None
    assert "meaning, not embedded yet" in first.parts
    told = opened.recall(asked, top_k=1)["memories"]
    assert [one["title"] for one in told] == [first.title]


def test_an_agent_gives_every_door_meaning(projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "default")

    def paths(**more: object) -> set[str]:
        found = agent.call("search", query="two-wheeler", **more)["results"]
        return {one["path"] for one in found}

    with agent_on(projects, VAULTMEM_EMBEDDING_MODEL="default") as agent:
        until(lambda: "Home.md" in paths(), what="it never searched by meaning")
        assert "Home.md" not in paths(keyword=True)
        assert "Home.md" not in paths(semantic=False)
        assert "Home.md" in paths(semantic=True)
        ended = on(projects, "search", "two-wheeler", "--format", "json")
        assert "Home.md" in ended.out
        assert ended.err == f"vaultmem: {NO_WORDS}\n"
        tool = agent.call("memory_search", query="two-wheeler")
        assert "Home.md:1: " in tool["text"]
        assert "found, by meaning alone\n" in tool["text"]
        assert "alone" not in agent.call("memory_search", query="bicycle")["text"]
        why = agent.call("why", query="two-wheeler", note="Home.md")
        assert why["rank"] is not None


def test_a_question_about_the_person_is_compared_as_memories_speak_of_them(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, text in (
        ("2025-03-01", "The user works at Acme"), ("2026-03-01", "The user works at Globex now"),
        ("2026-03-02", "The deploy script is ship.sh"),
    ):  # fmt: skip
        monkeypatch.setenv("VAULTMEM_NOW", f"{day}T10:00")
        opened.write(text, title=text)
    opened.sync()
    opened.embed()

    def answers(query: str) -> list[str]:
        return [one["title"] for one in opened.recall(query)["memories"]]

    assert answers("what is my job?") == ["The user works at Globex now"]
    assert answers("what was my previous job?") == [
        "The user works at Acme",
        "The user works at Globex now",
    ]
