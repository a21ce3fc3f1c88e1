"""The laws of a recall's steps: each is a function of candidates, and none drops what it must keep."""

from itertools import count, islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Write
from vaultmem import Vault
from vaultmem.memories.access import Origin
from vaultmem.memories.model import TYPES, Aging
from vaultmem.recall import newer, recall_candidate, recall_text
from vaultmem.recall.criteria import STEPS, Criteria
from vaultmem.recall.recall_candidate import Candidate
from vaultmem.search.cache import MOST_MADE, CatalogCache
from vaultmem.text.times import local_day, stamp

NOW = 1_800_000_000.0
DAY = 86_400.0

shares = st.floats(0, 1, allow_nan=False)
RANKED = {
    "path": st.integers(0, 10_000).map(lambda n: f"vaultmem/knowledge/{n}.md"),
    "line": st.just(1),
    "end_line": st.just(1),
    "content": st.text("ab é笔", max_size=30),
    "memory_type": st.sampled_from(TYPES),
    "created": st.floats(0, NOW),
    "confidence": shares,
    "origin": st.sampled_from([Origin(), Origin("claude"), Origin(outside=True)]),
    "score": st.floats(-50, 50, allow_nan=False),
}
FILTERED = RANKED | {  # with what only the filters look at
    "scope": st.sampled_from(["global", "agent:a", "agent:b"]),
    "importance": st.none() | shares,
    "compressed": st.booleans(),
    "archived": st.booleans(),
    "until": st.none() | st.floats(0, NOW),
    "forgotten": st.booleans(),
    "private": st.booleans(),
    "trusted": st.booleans(),
}


def lists_of(fields: dict[str, st.SearchStrategy[object]]) -> st.SearchStrategy[list[Candidate]]:
    return st.lists(st.builds(Candidate, **fields), max_size=12, unique_by=lambda one: one.path)


ranked = lists_of(RANKED)
wishes = st.builds(
    Criteria,
    query=st.just("x"),
    types=st.lists(st.sampled_from(TYPES), max_size=2).map(tuple),
    scopes=st.sampled_from([(), ("agent:a",), ("agent:a", "agent:b")]),
    min_confidence=shares,
    include_compressed=st.booleans(),
    untrusted=st.booleans(),
    without=st.frozensets(st.sampled_from(STEPS)),
    as_of=st.none() | st.floats(0, NOW),
    past=st.none() | st.just((20000101, 20241231)) | st.just((0, 20990101)),
)


def counted(one: Candidate) -> int:
    return 3 * len(one.content)


def near(one: Candidate, cosine: float) -> Candidate:
    return one._replace(parts={"similarity": cosine})


# --- filters


@given(lists_of(FILTERED), wishes)
def test_what_is_kept_may_be_told(found: list[Candidate], wanted: Criteria) -> None:
    kept, left = recall_candidate.filter_allowed(found, wanted)
    assert len(kept) + sum(left.values()) == len(found)
    assert [one for one in found if one in kept] == kept
    for one in kept:  # whatever is switched off
        assert one.scope in ("global", *wanted.scopes)
        assert not one.private
        if one.archived and one.until is not None:  # returned only for the time when it held
            first = wanted.past[0] if wanted.past and wanted.as_of is None else None
            assert first is not None or wanted.as_of is not None
            assert wanted.as_of is None or wanted.as_of <= one.until
            assert first is None or first <= int(local_day(stamp(one.until)).replace("-", ""))
        elif one.archived:
            assert one.forgotten
        assert wanted.as_of is None or one.note or one.created < wanted.as_of
        assert one.trusted or wanted.untrusted
        if wanted.has("filters"):
            assert one.importance is None or one.importance >= 0.2
            assert one.confidence >= wanted.min_confidence
            assert not one.compressed or wanted.include_compressed
            assert not wanted.types or one.memory_type in wanted.types


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"importance": 0.19}, "unimportant"), ({"importance": 0.2}, ""), ({"confidence": 0.01}, ""),
        ({"archived": True, "forgotten": True}, ""), ({"archived": True, "forgotten": True, "until": NOW}, "archived"),
        ({"compressed": True}, "compressed"), ({"archived": True}, "archived"), ({"private": True}, "private"),
        ({"scope": "user:x"}, "of another scope"), ({"trusted": False}, "untrusted"), ({}, ""),
        ({"role": "user", "content": "The words?"}, "asked now"), ({"role": "user", "content": "Other words?"}, ""),
        ({"role": "memory", "content": "The words?"}, ""),
    ],
)  # fmt: skip
def test_each_reason(changes: dict[str, object], why: str) -> None:
    one = Candidate("a.md", 1, 1, "words")._replace(**changes)  # type: ignore[arg-type]
    assert recall_candidate.reason(one, Criteria("the words")) == why


@pytest.mark.parametrize(
    ("day", "why"), [(-1, "not known then"), (1, ""), (2, ""), (3, "archived")]
)
def test_what_was_replaced_is_told_of_the_days_when_it_held(day: int, why: str) -> None:
    old = Candidate("a.md", 1, 1, "words", created=NOW, archived=True, until=NOW + 2 * DAY)
    new = old._replace(created=NOW + 2 * DAY, archived=False, until=None)
    then = Criteria("x", as_of=NOW + day * DAY)
    assert recall_candidate.reason(old, then) == why
    assert recall_candidate.reason(new, then) == ("" if day == 3 else "not known then")


agings = st.builds(
    Aging,
    st.sampled_from(["contextual", "reinforceable"]),
    st.floats(NOW - 60 * DAY, NOW + DAY),
    st.none() | st.floats(NOW - 60 * DAY, NOW),
)


@given(st.lists(agings, max_size=20), st.lists(st.tuples(shares, st.floats(-40, 40)), max_size=4))
def test_what_has_faded_is_what_its_confidence_says(
    found: list[Aging], asked: list[tuple[float, float]]
) -> None:
    known = CatalogCache(None, 0, "", "")  # type: ignore[arg-type]
    known.__dict__["_memories"] = list(enumerate(found))  # as the catalog would return it
    for minimum, days in asked:
        now = NOW + days * DAY
        faded = {number for number, one in enumerate(found) if one.confidence(now) < minimum}
        assert known.faded(minimum, now) == faded


def test_a_thread_that_clears_the_cache_takes_nothing_from_another() -> None:
    known = CatalogCache(None, 0, "", "")  # type: ignore[arg-type]
    numbers = count()

    class Key:
        """A key whose look-up another thread interrupts, with as many values as there is room for."""

        def __hash__(self) -> int:
            for number in islice(numbers, MOST_MADE):
                known.once(number, str)
            return 7

    assert known.once(Key(), lambda: 5) == 5


# --- fit


@given(ranked, st.lists(st.tuples(st.booleans(), st.floats(-1, 1)), max_size=12), st.booleans())
def test_who_shares_a_word_stays_and_no_order_changes(
    found: list[Candidate], how: list[tuple[bool, float]], is_one_word: bool
) -> None:
    pairs = zip(found, how, strict=False)
    asked = [
        near(one, cosine)._replace(
            shares=shares, lacks=is_one_word and not shares, score=abs(one.score)
        )  # a search finds nothing below
        for one, (shares, cosine) in pairs
    ]
    fit = recall_candidate.relevant(asked)
    assert [one for one in asked if one in fit] == fit
    floor = recall_candidate.FLOOR * max((one.score for one in fit), default=0.0)
    assert all(one in fit for one in asked if one.shares and one.score >= floor)
    least = recall_candidate.NEAR_OF_PAGES
    assert all(one.shares or one.parts["similarity"] >= least for one in fit)
    assert recall_candidate.relevant(fit) == fit


def test_of_what_hardly_fits_there_are_a_few() -> None:
    weak = [near(Candidate(f"{n}.md", 1, 1, "x", score=9.0), 0.2) for n in range(9)]
    assert recall_candidate.relevant(weak, "what is x") == weak[: recall_candidate.FEW]
    assert recall_candidate.relevant(weak, "x") == weak
    for better in (weak[8].scored(20.0), near(weak[8], 0.3), weak[8]._replace(parts={})):
        found = [*weak[:8], better]
        assert recall_candidate.relevant(found, "what is x") == found


def test_a_word_shared_by_chance_is_no_answer(opened: Vault, write: Write) -> None:
    """Unless it is all that is asked for, or there is no model to judge."""
    prose = "The pump hums. Grease the bearing each season, then close both taps. " * 6
    for number in range(9):
        write(f"Pump {number}.md", f"# Pump {number}\n\n{prose}\n")
    write("Opera.md", "# Opera\n\nThe opera season in Sydney starts on 3 January.\n")
    opened.sync()
    opened.embed()
    question = "when does the opera season in Sydney start"
    assert [one["path"] for one in opened.recall(question)["memories"]] == ["Opera.md"]
    assert len(opened.recall("season", budget=9_000)["memories"]) > recall_candidate.FEW
    chess = "which chess club in Reykjavik won the season"
    assert not opened.recall(chess)["memories"]
    assert len(opened.recall(chess, without=["meaning"], budget=9_000)["memories"]) == 10


def test_what_fits_much_worse_than_the_best_is_left_out_where_meaning_has_judged() -> None:
    best = near(Candidate("a.md", 1, 1, "answer", score=10.0), 0.6)
    fair, poor = (best._replace(path=f"{score}.md", score=score) for score in (4.0, 3.9))
    long = poor._replace(
        path="long.md", score=poor.score + 7.2, parts={**poor.parts, "length": 7.2}
    )
    assert recall_candidate.relevant([best, long]) == [best]  # length alone is no answer
    assert recall_candidate.relevant([best, fair, poor]) == [best, fair]
    assert recall_candidate.relevant([fair, poor]) == [fair, poor]
    words = [one._replace(parts={}) for one in (best, fair, poor)]
    assert recall_candidate.relevant(words) == words
    for role, content in (
        ("user", "Why x? "),
        ("user", "x，吗？"),
        ("assistant", "I do not know x"),
    ):
        echo = best._replace(path="e.md", role=role, content=content)
        assert recall_candidate.relevant([echo, fair, poor]) == [echo, fair, poor]
        assert recall_candidate.relevant([echo, poor._replace(role=role, content=content)]) == [
            echo
        ]
    fact = best._replace(path="f.md", content="My sister lives in Ghent")
    asked = "My sister lives in Ghent. Where is the stopcock?"
    assert recall_candidate.relevant([fact, fair, poor], asked) == [fact, fair, poor]
    assert recall_candidate.relevant([fact, fair, poor], "Who lives in Ghent?") == [fact, fair]
    stated = best._replace(path="s.md", role="user")
    assert recall_candidate.relevant([stated, fair, poor]) == [stated, fair]


# --- scores


@given(st.floats(0.4, 1), st.floats(0, 1), st.floats(0, 365), st.floats(0, 365))
def test_what_fits_much_better_comes_first_however_old_and_unsure_it_is(
    better: float, sure: float, age: float, other: float
) -> None:
    found = [
        Candidate("old.md", 1, 1, "words", score=better, confidence=sure, created=NOW - age * DAY),
        Candidate("new.md", 1, 1, "words", score=better - 0.4, created=NOW - other * DAY),
    ]
    first = recall_candidate.with_confidence(recall_candidate.with_recency(found, NOW, 0.2))[0]
    assert first.path == "old.md"


# --- choice


def test_blocks_of_pages_are_not_held_against_each_other() -> None:
    page = Candidate("0.md", 1, 1, "likes apples", score=1.0, note=True)
    found = [page, page._replace(line=3, score=0.9), page._replace(line=5, score=0.8)]
    similar = recall_candidate.repeating(found, recall_candidate.by_words(found))
    assert [one.line for one in recall_candidate.diverse(found, similar, 0.7)] == [1, 3, 5]
    assert similar[0][1] == 0.0
    mixed = [page, page._replace(path="m.md", note=False), page._replace(line=3, turn=True)]
    similar = recall_candidate.repeating(mixed, recall_candidate.by_words(mixed))
    assert (similar[0][1], similar[0][2], similar[1][2]) == (1.0, 1.0, 1.0)


@given(ranked, st.integers(1, 9), st.integers(1, 200))
def test_a_budget_holds_and_cuts_nothing(found: list[Candidate], top_k: int, budget: int) -> None:
    chosen = recall_text.within(found, top_k, budget, counted)
    told = [one for one, _ in chosen.items]
    assert chosen.tokens == sum(map(counted, told)) <= budget
    assert len(told) <= top_k
    assert [one for one in found if one in told] == told  # whole, in order, each once
    left = [one for one in found if one not in told]
    room = budget - chosen.tokens
    assert len(told) == top_k or all(counted(one) > room for one in left)


def test_no_line_of_a_note_is_recalled_twice() -> None:
    part = Candidate("n.md", 7, 7, "the long line", note=True)
    whole = part._replace(line=5, content="# Head\n\nthe long line")
    after = part._replace(end_line=9, content="the long line\n\nthe end")

    def lines(*candidates: Candidate, room: int = 1_000) -> list[tuple[int, int, str]]:
        chosen = recall_text.within(candidates, 9, room, counted)
        assert chosen.skipped == 0
        return [(one.line, one.end_line, one.content) for one, _ in chosen.items]

    assert lines(whole, part) == [(5, 7, "# Head\n\nthe long line")]
    assert lines(part, whole) == [(7, 7, "the long line"), (5, 6, "# Head\n")]
    assert lines(whole, after) == [(5, 7, "# Head\n\nthe long line"), (8, 9, "\nthe end")]
    for other in (whole._replace(path="m.md"), whole._replace(content="# Head\n\nedited")):
        assert lines(part, other)[1][2] == other.content


@pytest.mark.parametrize("parts", [{}, {"similarity": 0.4}])
def test_a_preference_far_from_the_question_is_not_first(parts: dict[str, float]) -> None:
    fact = Candidate("f.md", 1, 1, "x", score=1.0, parts=parts)
    wish = Candidate("p.md", 1, 1, "x", memory_type="procedural", parts=parts)
    for score, order in ((0.2, [fact, wish]), (0.6, [wish, fact])):
        pair = [fact, wish._replace(score=score)]
        chosen = recall_text.within(pair, 4, 1_000, counted)
        told = recall_text.preferences_first(chosen).items
        assert [one.path for one, _ in told] == [one.path for one in order]


@given(ranked, st.randoms())
def test_what_is_newer_comes_first_and_nothing_is_lost(
    ranking: list[Candidate], random: Random
) -> None:
    keys = list(dict.fromkeys(one.key for one in ranking))
    others = [Candidate(f"{n}.md", 1, 1, "x", created=n) for n in range(3)]
    pool = [*{one.key: one for one in ranking}.values(), *others]
    pairs = {key: [new for new in pool if random.random() < 0.2 and new.key != key] for key in keys}
    order = [one.key for one in newer.newest_first(ranking, pairs)]
    added = {new.key for news in pairs.values() for new in news}
    assert len(order) == len(set(order))
    assert set(keys) <= set(order) <= set(keys) | added
    assert newer.newest_first(ranking, {}) == list({one.key: one for one in ranking}.values())


def test_what_is_newer_about_the_same_comes_right_before_it() -> None:
    texts = [("port 8000", 1), ("a cat", 9), ("port 9000", 3), ("a dog", 2), ("port 7000", 2)]
    ranking = {text: Candidate(text, 1, 1, text, created=day) for text, day in texts}
    away = Candidate("away", 1, 1, "port 6000", created=4)
    pairs = {
        "port 8000": [away, ranking["port 9000"], ranking["port 7000"]],
        "port 7000": [ranking["port 9000"]],
    }
    order = [one.content for one in newer.newest_first(ranking.values(), pairs)]
    assert order == ["port 6000", "port 9000", "port 7000", "port 8000", "a cat", "a dog"]
