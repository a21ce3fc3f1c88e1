"""The order of results: laws of its numbers, which words weigh little and how points become scores; and on real vaults and a
real index, also by meaning if the model is installed."""

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Write
from vaultmem.api import Vault
from vaultmem.commands import search_views
from vaultmem.index import ASKS, DOUBLED, MOST_DOUBLED, ORD_BITS
from vaultmem.search import keyword_search, rank
from vaultmem.search.keyword_search import Question
from vaultmem.search.query import Filter, parse

cosines = st.floats(-1, 1, allow_nan=False)
points = st.floats(0, 100, allow_nan=False)


@given(found=st.integers(0, 10_000), more=st.integers(1, 1000), total=st.integers(0, 10_000))
def test_rarer_words_tell_more_and_none_tells_against(found: int, more: int, total: int) -> None:
    assert rank.rarity(found, total) > 0
    everything = found + more + total
    assert rank.rarity(found, everything) > rank.rarity(found + more, everything)


def number(block: int) -> int:
    """Of a block where each note has up to four."""
    return block >> 2 << ORD_BITS | block & 3


closeness = st.builds(rank.Closeness, block=cosines, joined=cosines, whole=cosines)
blocks = st.integers(0, 20).map(number)
scored, close = st.dictionaries(blocks, points), st.dictionaries(blocks, closeness)
notes = st.integers(0, 20).map(lambda note: note << ORD_BITS)  # of one block each
those_behind = st.dictionaries(st.integers(0, 5), st.sampled_from(["template", "conflict copy"]))
scored_notes, close_notes = st.dictionaries(notes, points), st.dictionaries(notes, closeness)


@given(keyword=scored, meaning=close, behind=those_behind, words=st.floats(0.1, 1))
def test_parts_add_up_and_the_best_is_first(
    keyword: dict[int, float],
    meaning: dict[int, rank.Closeness],
    behind: dict[int, str],
    words: float,
) -> None:
    facts = rank.Facts(behind, words=words if meaning else 1.0)
    ranking = rank.Ranking(keyword, meaning, facts)
    hits = [ranking.ranked(block) for _, block in ranking.scored]
    assert {hit.block for hit in hits} == keyword.keys() | meaning.keys()
    for hit, (lost, _) in zip(hits, ranking.scored, strict=True):
        assert hit.score == pytest.approx(-lost)
        assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.block))
    reversed_ones = dict(reversed(keyword.items())), dict(reversed(meaning.items()))
    assert rank.Ranking(*reversed_ones, facts).scored == ranking.scored


@given(keyword=scored, meaning=close, behind=those_behind)
def test_a_score_is_the_weighted_sum_and_half_of_it_for_copies_and_templates(
    keyword: dict[int, float], meaning: dict[int, rank.Closeness], behind: dict[int, str]
) -> None:
    ranking = rank.Ranking(keyword, meaning, rank.Facts(behind))
    own = {}
    for block in keyword.keys() | meaning.keys():
        own[block] = keyword.get(block, 0.0)
        if near := meaning.get(block):
            own[block] += rank.COSINE_WEIGHT * near.block + rank.JOINED_WEIGHT * near.joined
            own[block] += rank.WHOLE_WEIGHT * near.whole
        own[block] += rank.estimates(keyword, meaning).get(block, 0.0)
    for block, score in own.items():
        expected = score / 2 if block >> ORD_BITS in behind and score > 0 else score
        assert ranking.ranked(block).score == pytest.approx(expected, abs=1e-9)


def test_ties_within_a_note_need_no_path() -> None:
    first, second = 7 << ORD_BITS, 8 << ORD_BITS
    scored = [(-2.0, first | 1), (-2.0, first | 2), (-1.0, second)]
    assert rank.in_order(scored, pytest.fail, 10) == [first | 1, first | 2, second]


@given(keyword=scored_notes, meaning=close_notes)
def test_what_is_not_embedded_yet_stands_above_what_fits_the_words_no_better(
    keyword: dict[int, float], meaning: dict[int, rank.Closeness]
) -> None:
    ranking = rank.Ranking(keyword, meaning, rank.Facts())
    for block in keyword.keys() - meaning.keys():
        no_better = [
            one for one in keyword.keys() & meaning.keys() if keyword[one] <= keyword[block]
        ]
        score = ranking.ranked(block).score
        assert all(score >= ranking.ranked(one).score - 1e-9 for one in no_better)
        assert bool(no_better) == ("meaning, not embedded yet" in ranking.ranked(block).parts)


linked_notes = st.dictionaries(st.integers(0, 20), st.sets(st.integers(0, 25), min_size=1))


@given(keyword=scored, links=linked_notes)
def test_a_link_lifts_the_best_block_of_its_target_but_not_up_to_the_block_that_links(
    keyword: dict[int, float], links: dict[int, set[int]]
) -> None:
    def targets(blocks: list[int]) -> dict[int, set[int]]:
        return {block: links[block >> ORD_BITS] for block in blocks if block >> ORD_BITS in links}

    ranking = rank.Ranking(keyword, {}, rank.Facts(links=targets))
    best = sorted(keyword, key=lambda block: (-keyword[block], block))[: rank.LINKING]
    for block, own in keyword.items():
        linking = [keyword[one] for one in best if block >> ORD_BITS in targets([one]).get(one, ())]
        highest = max(linking, default=0.0)
        lift = ranking.ranked(block).parts.get("linked", 0.0)
        assert 0 <= lift <= rank.LINK_SHARE * highest
        assert not lift or own + lift <= rank.LINK_BOUND * highest + 1e-9


def test_every_part_of_a_score_is_explained_in_words() -> None:
    near = rank.Closeness(0.5, 0.5, 0.5)
    facts = rank.Facts(
        {0: "conflict copy"},
        {1: 10, 2: ASKS, 3: DOUBLED},
        around={1: 1.0},
        words=0.7,
        links=lambda _: {5: {1}},
    )
    linked, linking = 1 << ORD_BITS, 5
    ranking = rank.Ranking(
        {1: 4.0, 2: 3.0, 3: 5.0, linking: 9.0, linked: 1.0}, {1: near, 2: near}, facts
    )
    names = {name for block in (1, 2, 3, linked) for name in ranking.ranked(block).parts}
    assert {
        "length", "short question", "words around it", "less for words", "conflict copy",
        "meaning, not embedded yet", "linked", "long note",
    } < names  # fmt: skip
    assert names | {"template"} <= search_views._PARTS.keys()


@given(keyword=scored_notes, meaning=close_notes, words=st.integers(0, 10))
def test_what_says_more_stands_higher_and_a_short_question_lower(
    keyword: dict[int, float], meaning: dict[int, rank.Closeness], words: int
) -> None:
    for block in keyword.keys() | meaning.keys():
        scores = [
            rank.Ranking(keyword, meaning, rank.Facts(sizes={block: size})).ranked(block).score
            for size in (words + 1, words, words + ASKS)
        ]
        assert scores == sorted(scores, reverse=True)
        assert len(set(scores)) == 3


@given(keyword=scored, words=st.integers(0, 10), doubled=st.integers(1, MOST_DOUBLED))
def test_of_a_longer_note_a_block_scores_less_unless_something_is_looked_up(
    keyword: dict[int, float], words: int, doubled: int
) -> None:
    sizes = words, words + DOUBLED * doubled
    for block in keyword:
        (short, long), (same, alike) = (
            [
                rank.Ranking(keyword, {}, rank.Facts(sizes={block: size}, links=links)).ranked(
                    block
                )
                for size in sizes
            ]
            for links in (lambda _: {}, None)
        )
        cost = long.parts.pop("long note")
        assert cost == pytest.approx(-rank.LONG_COST * doubled)
        assert long.parts == short.parts
        assert same == alike


@pytest.mark.parametrize(
    ("words", "share"),
    [
        ("boiler service", 1.0), ("who services the boiler", rank.WORDS_SHARE), ("锅 炉", 1.0), ("锅 炉 检 查", 1.0),
        ("锅 炉 坏 了 该 找 谁", rank.CJK_SHARE), ("docker 容 器 重 启", rank.CJK_SHARE), ("кто чинит котёл", rank.WORDS_SHARE),
        ("write ahead log 日 志", rank.WORDS_SHARE),
    ],
)  # fmt: skip
def test_words_beside_meaning_count_by_how_many_they_are(words: str, share: float) -> None:
    """In CJK two characters are a word; one or two words are looked up and count in full."""
    assert rank.words_share(words.split()) == share


def test_templates_stay_behind_and_are_found_by_name(vault: Path, write: Write) -> None:
    """By the editor's settings, or by the usual names of their folder; a note about templates is none."""
    text = "The recipe: ingredients, oven, time.\n"
    write(".obsidian/templates.json", '{"folder": "Forms"}')
    write(".obsidian/daily-notes.json", '{"template": "Own/Day"}')
    templates = {
        "Forms/Recipe.md",
        "Own/Day.md",
        "99 _Templates/Recipe.md",
        "Kitchen/日记模板/Recipe.md",
    }
    notes = {
        "Own/Oven.md",
        "Template engines/Recipe.md",
        "Recipe templates.md",
        "Formsheet/Recipe.md",
        "pages/Templates.md",
    }
    for path in templates | notes:
        write(path, text)
    with Vault(str(vault)) as one:
        one.sync()
        hits = one.search("ingredients oven")
        assert {hit.path for hit in hits[: len(notes)]} == notes
        assert {hit.path: "template" in hit.parts for hit in hits} == {
            **dict.fromkeys(notes, False), **dict.fromkeys(templates, True),
        }  # fmt: skip
        recalled = {one["path"] for one in one.recall("ingredients oven", top_k=20)["memories"]}
        assert recalled == notes
        write("Own/Oven.md", text)
        best = one.search("day")[0]
        assert best.path == "Own/Day.md"
        write(".obsidian/templates.json", '{"folder": "Formsheet"}')
        one.sync()
        now = {hit.path for hit in one.search("ingredients oven") if "template" in hit.parts}
        assert now == templates - {"Forms/Recipe.md"} | {"Formsheet/Recipe.md"}


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
    write("People/Marek Nowak.md", "A slater from Gdańsk, who whistles.\n")
    opened.sync()
    for who in ("Marek", "who is Marek?"):
        assert opened.search(who)[0].path == "People/Marek Nowak.md"


def test_yesterday_is_a_day_and_not_a_word(
    opened: Vault, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-28T09:00")
    write("Daily/2026-11-27.md", "Ran along the river.\n")
    write("Plot.md", "Garlic in, on 27 November. Yesterday the hoe broke.\n")
    write("Sayings.md", "Is yesterday still there? Yesterday, yesterday, what did yesterday do?\n")
    opened.sync()
    found = [hit.path for hit in opened.search("what did I do yesterday")]
    assert found[:2] == ["Daily/2026-11-27.md", "Plot.md"]


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
