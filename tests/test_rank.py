"""The numbers of the ranking: which words weigh little, and how points become scores."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultmem.commands import search_views
from vaultmem.index import ASKS, DOUBLED, MOST_DOUBLED, ORD_BITS
from vaultmem.search import rank

cosines = st.floats(-1, 1, allow_nan=False)
points = st.floats(0, 100, allow_nan=False)


@given(found=st.integers(0, 10_000), more=st.integers(1, 1000), total=st.integers(0, 10_000))
def test_rarer_words_tell_more_and_none_tells_against(found: int, more: int, total: int) -> None:
    assert rank.rarity(found, total) > 0
    everything = found + more + total
    assert rank.rarity(found, everything) > rank.rarity(found + more, everything)


@given(as_label=st.integers(0, 1000), in_body=st.integers(0, 1000))
def test_a_speakers_name_still_counts_where_it_is_only_said(as_label: int, in_body: int) -> None:
    weight = rank.spoken_weight(as_label, in_body)
    assert 1 - rank.NAME_SHARE - 1e-9 <= weight <= 1
    assert rank.spoken_weight(0, in_body) == 1
    assert rank.spoken_weight(as_label + 1, in_body) <= weight


def number(block: int) -> int:
    """Of a block where each note has up to four."""
    return block >> 2 << ORD_BITS | block & 3


closeness = st.builds(rank.Closeness, block=cosines, joined=cosines, whole=cosines)
blocks = st.integers(0, 20).map(number)
scored, close = st.dictionaries(blocks, points), st.dictionaries(blocks, closeness)
notes = st.integers(0, 20).map(lambda note: note << ORD_BITS)  # of one block each
scored_notes, close_notes = st.dictionaries(notes, points), st.dictionaries(notes, closeness)


@given(keyword=scored, meaning=close, copies=st.sets(st.integers(0, 5)), words=st.floats(0.1, 1))
def test_parts_add_up_and_the_best_is_first(
    keyword: dict[int, float], meaning: dict[int, rank.Closeness], copies: set[int], words: float
) -> None:
    facts = rank.Facts(copies, words=words if meaning else 1.0)
    ranking = rank.Ranking(keyword, meaning, facts)
    hits = [ranking.ranked(block) for _, block in ranking.scored]
    assert {hit.block for hit in hits} == keyword.keys() | meaning.keys()
    for hit, (lost, _) in zip(hits, ranking.scored, strict=True):
        assert hit.score == pytest.approx(-lost)
        assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.block))
    reversed_ones = dict(reversed(keyword.items())), dict(reversed(meaning.items()))
    assert rank.Ranking(*reversed_ones, facts).scored == ranking.scored


@given(keyword=scored, meaning=close, copies=st.sets(st.integers(0, 5)))
def test_the_share_of_the_note_counts_once_and_a_copy_half(
    keyword: dict[int, float], meaning: dict[int, rank.Closeness], copies: set[int]
) -> None:
    ranking = rank.Ranking(keyword, meaning, rank.Facts(copies))
    own = {}
    for block in keyword.keys() | meaning.keys():
        own[block] = keyword.get(block, 0.0)
        if near := meaning.get(block):
            own[block] += rank.COSINE_WEIGHT * near.block + rank.JOINED_WEIGHT * near.joined
            own[block] += rank.WHOLE_WEIGHT * near.whole
        own[block] += rank.estimates(keyword, meaning).get(block, 0.0)
    for block, score in own.items():
        beside = sorted((own[b] for b in own if b >> ORD_BITS == block >> ORD_BITS), reverse=True)
        shares = zip(rank.NOTE_SHARE, beside, strict=False)
        share = rank.NOTE_WEIGHT * sum(part * max(points, 0) for part, points in shares)
        whole = score + share
        expected = whole / 2 if block >> ORD_BITS in copies and whole > 0 else whole
        assert ranking.ranked(block).score == pytest.approx(expected, abs=1e-9)


@example(
    keyword={0: 100.0, number(4): 94.0, number(5): 94.0, number(6): 94.0},
    meaning={},
    sizes={},
    limit=1,
)
@given(
    keyword=scored,
    meaning=close | st.just({}),
    sizes=st.dictionaries(blocks, st.integers(0, len(rank.SIZE_POINTS) - 1)),
    limit=st.integers(1, 4),
)
def test_notes_that_cannot_be_among_the_first_are_left_out_of_the_order_alone(
    keyword: dict[int, float], meaning: dict[int, rank.Closeness], sizes: dict[int, int], limit: int
) -> None:
    whole, first = (
        rank.Ranking(keyword, meaning, rank.Facts(sizes=sizes, limit=most)) for most in (0, limit)
    )
    best = rank.in_order(whole.scored, lambda _: {}, limit)
    assert rank.in_order(first.scored, lambda _: {}, limit) == best
    assert [*map(first.ranked, best)] == [*map(whole.ranked, best)]


def test_ties_within_a_note_need_no_path() -> None:
    first, second = 7 << ORD_BITS, 8 << ORD_BITS
    scored = [(-2.0, first | 1), (-2.0, first | 2), (-1.0, second)]
    assert rank.in_order(scored, pytest.fail, 10) == [first | 1, first | 2, second]


@given(keyword=scored_notes, meaning=close_notes)
def test_what_is_not_embedded_yet_stands_above_what_fits_the_words_no_better(
    keyword: dict[int, float], meaning: dict[int, rank.Closeness]
) -> None:
    ranking = rank.Ranking(keyword, meaning)
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
        {0}, {1: 10, 2: ASKS, 3: DOUBLED}, around={1: 1.0}, words=0.7, links=lambda _: {5: {1}}
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
    assert names <= search_views._PARTS.keys()


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
        assert {**long.parts, "note": 0.0} == {**short.parts, "note": 0.0}
        assert same == alike


@given(st.integers(0, 5), cosines, cosines, points)
def test_closer_never_scores_less(block: int, one: float, other: float, words: float) -> None:
    low, high = sorted((one, other))
    scores = [
        rank.Ranking({block: words}, {block: rank.Closeness(cosine, 0.3, 0.3)}).scored[0][0]
        for cosine in (low, high)
    ]
    assert scores[0] >= scores[1]


@given(st.lists(st.tuples(st.integers(0, 4), points), max_size=30))
def test_a_note_scores_one_to_two_times_its_best_block(
    hits: list[tuple[int, float]],
) -> None:
    ordered = sorted(hits, key=lambda hit: -hit[1])
    for note, score in rank.note_scores(ordered).items():
        best = max(points for owner, points in hits if owner == note)
        assert best <= score <= best * sum(rank.NOTE_SHARE) + 1e-9


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
