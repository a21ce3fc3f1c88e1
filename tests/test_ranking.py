"""Laws of the order of results, on real vaults and a real index; also by meaning if the model is installed."""

import random
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from vaultmem.api import Vault
from vaultmem.index import ORD_BITS
from vaultmem.search import keyword_search
from vaultmem.search.keyword_search import Question
from vaultmem.search.query import Filter, parse

Write = Callable[..., Path]
QUERIES = [
    "roof", "where is the stopcock in the house", "What did Lu say about the wool?", "下雨的时候水桶", '"the wool" foam',
    "slate OR tile -piano", "nail*", "when did Marek come in April 2025", "tag:house roof",
    "where it stands",
]  # fmt: skip


@pytest.fixture(scope="module")
def searched(sample: Path) -> Iterator[Vault]:
    """The sample vault with keywords and meaning."""
    with Vault(str(sample)) as vault:
        vault.sync()
        vault.embed()
        yield vault


@pytest.mark.parametrize("name", ["Madalena", "Musselburgh", "Slater"])
def test_a_recall_for_a_name_tells_nothing_beside_what_has_it(searched: Vault, name: str) -> None:
    told = searched.recall(name, counts=False)["memories"]
    assert told
    assert all(name in f"{one['title']} {one['content']}" for one in told)


def paths(folder: Path, text: str, limit: int = 10) -> list[str]:
    with Vault(str(folder)) as vault:
        vault.sync()
        return [result.path for result in vault.search(text, limit=limit)]


def modes(vault: Vault) -> list[bool]:
    return [False, True] if vault.embedded()[2] is None else [False]


@pytest.mark.parametrize("text", QUERIES)
def test_the_parts_add_up_to_the_score_and_the_best_is_first(searched: Vault, text: str) -> None:
    for semantic in modes(searched):
        results = searched.search(text, limit=50, semantic=semantic, group="block")
        assert results
        scores = [result.score for result in results]
        assert scores == sorted(scores, reverse=True)
        for result in results:
            assert result.score == pytest.approx(sum(result.parts.values()), abs=1e-3)


@pytest.mark.parametrize("text", QUERIES)
def test_the_fields_of_why_add_up_to_the_keyword_points(searched: Vault, text: str) -> None:
    question = Question(text, parse(text), None)
    whole = searched.searcher().keyword.search(question, 5)
    for block, score in whole.items():
        parts = searched.searcher().keyword.parts(question, block >> ORD_BITS)
        assert sum(found.get(block, 0.0) for found in parts.values()) == pytest.approx(
            score, rel=1e-3
        )


@pytest.mark.parametrize("text", QUERIES)
def test_leaving_notes_out_is_the_same_as_searching_the_others(
    searched: Vault, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    searcher, query = searched.searcher(), parse(text)
    notes = [note for (note,) in searcher.catalog.db.execute("SELECT id FROM notes ORDER BY id")]
    for share, limit in product((1, 10, 50, 90), (1, 5, 40)):
        hidden = set(random.Random(share).sample(notes, max(1, share * len(notes) // 100)))
        others = Question(text, query, {*notes} - hidden)
        with monkeypatch.context() as patch:
            patch.setattr(keyword_search, "MOST", 0.001)  # so that the engine does it
            expected = searcher.keyword.search(others, limit)
        for question in (others, Question(text, query, hidden, all_but=True)):
            assert [*searcher.keyword.search(question, limit).items()] == [*expected.items()]


def test_a_filter_gives_the_best_of_what_fits_it(opened: Vault, write: Write) -> None:
    for number in range(300):
        write(f"Loud/{number}.md", "Roof roof roof of slate.")
    for number in range(8):
        write(
            f"Quiet/{number}.md",
            f"A ladder and {number} other things{' to carry' * number}; the roof.",
        )
    opened.sync()
    opened.embed()
    for semantic in modes(opened):
        results = opened.search("roof slate path:Quiet", limit=10, semantic=semantic)
        assert len(results) == 8
        assert all(result.path.startswith("Quiet/") for result in results)
        everything = opened.search("roof slate", limit=400, semantic=semantic)
        quiet = [result.path for result in everything if result.path.startswith("Quiet/")]
        typed = opened.search(
            "roof slate", limit=10, semantic=semantic, filters=[Filter("path", "Quiet")]
        )
        assert [result.path for result in typed] == [result.path for result in results]
        assert not semantic or set(quiet) <= {result.path for result in results}


def test_what_a_speaker_says_comes_before_where_he_is_named(opened: Vault, write: Write) -> None:
    write("greeted.md", "**Ruth:** Oh Marek, Marek! Dear Marek, the ladder again?\n\n**Anne:** Hello Ruth.\n\n"
                        "**Ruth:** Marek, I said ladder.\n")  # fmt: skip
    write("said.md", "**Marek:** I want my ladder back by Sunday.\n\n**Anne:** You shall have it.\n\n"
                     "**Marek:** Good.\n")  # fmt: skip
    opened.sync()
    best = opened.search("What did Marek say about the ladder?", group="block")[0]
    assert (best.path, best.label, best.line) == ("said.md", "Marek", 1)
    assert "greeted.md" in [result.path for result in opened.search("Marek")]


def test_a_conflict_copy_comes_below_its_original(opened: Vault, write: Write) -> None:
    write("Roof.md", "Copper gutter on the north side.")
    write(
        "Roof.sync-conflict-20250101-101010-ABCDEFG.md", "Copper gutter on the north side. Copper!"
    )
    write("Other.md", "A gutter.")
    opened.sync()
    results = opened.search("copper gutter roof")
    found = [result.path for result in results]
    copy = next(result for result in results if result.original)
    assert found.index("Roof.md") < found.index(copy.path)
    assert copy.parts["conflict copy"] < 0
    assert copy.score == pytest.approx(sum(copy.parts.values()), abs=1e-3)


def test_the_day_that_is_asked_for_comes_first(vault: Path, write: Write) -> None:
    for day in range(1, 29):
        write(f"2025-03-{day:02}.md", "We repaired the roof and had soup.")
    assert paths(vault, "What did we do to the roof on 12 March 2025?")[0] == "2025-03-12.md"
    assert paths(vault, "2025-03-19")[0] == "2025-03-19.md"


def test_the_note_that_a_passage_leads_to_follows_the_passage(opened: Vault, write: Write) -> None:
    write("Diary.md", "The man who cleans our chimney every autumn is [[Kovacs]], and he is cheap.")
    write("Kovacs.md", "Telephone 555 2368, cash only. Not in the autumn holidays.")
    for number in range(12):
        write(f"{number}.md", f"Every autumn the man next door rakes {number} heaps of leaves.")
    opened.sync()
    question = "which man cleans the chimney every autumn"
    first, second, *rest = opened.search(question)
    assert (first.path, second.path) == ("Diary.md", "Kovacs.md")
    assert second.parts["linked"] > 0
    assert not any("linked" in result.parts for result in [first, *rest])
    assert not any("linked" in result.parts for result in opened.search("autumn man"))
