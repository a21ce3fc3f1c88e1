"""Memories that say the same become one; those that only look alike do not, and nothing is lost."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.stand_in_view import StandInView, ago, memory_file
from vaultmem.adapter import Value
from vaultmem.dreams.memory_links import retarget_links
from vaultmem.dreams.merge import merge
from vaultmem.dreams.same import unite_texts
from vaultmem.text.similarity import content_hash
from vaultmem.text.values import code_blocks

LONG = (
    "The backup of the billing database runs every night on the small server in the cellar, and it is kept"
    " for a month before the oldest copy makes room for a new one; whoever restores it needs the key."
)


def pair(one: str, other: str, **properties: Value) -> StandInView:
    return StandInView(
        [memory_file("knowledge/One", one, 9), memory_file("knowledge/Two", other, 5, **properties)]
    )


def merged(view: StandInView) -> StandInView:
    plan, after = view.run(merge)
    assert after.run(merge)[0].changes == (), "merging twice changes something"
    shuffled = StandInView(dict(reversed(view.files.items())), view.notes, view.read_counts)
    shuffled.cosines = view.cosines
    assert shuffled.run(merge)[0] == plan, "the plan depends on the order of files"
    return after


def are_one(view: StandInView) -> bool:
    return len(merged(view).archived()) == 1


def test_what_hundreds_of_filled_in_copies_share_hides_no_pair() -> None:
    """Words that most memories have say little, and are not followed: that took minutes of a large vault."""
    copies = [f"Anne prefers the blue box for tool {at} of shelf {at % 7}" for at in range(300)]
    texts = ["Anne prefers quiet mornings", *copies, "Anne prefers mornings that are quiet"]
    files = (memory_file(f"preferences/{at}", text, 9 - at / 100) for at, text in enumerate(texts))
    (gone,) = StandInView(dict(files)).run(merge)[1].archived()
    assert gone.path == "vaultmem/archive/301.md"


@pytest.mark.parametrize("blank", ["", "\n \n"])
def test_notes_that_are_only_a_title_are_not_the_same(blank: str) -> None:
    assert not are_one(pair("", blank))


@pytest.mark.parametrize(
    ("one", "other", "cosine", "same"),
    [
        ("user prefers dark mode", "user prefers dark mode\n", None, True),
        ("User prefers dark mode", "user  prefers dark mode", None, True),  # the same opening
        (LONG, LONG + " Ask Anne.", None, True),
        (LONG, LONG.replace("small", "little"), None, True),
        ("部署分支是 main，发布前要先跑完整的测试。", "部署分支是 main，发布前要先跑完整的测试。\n\n", None, True),
        (LONG + " It takes 20 minutes.", LONG + " It takes 40 minutes.", None, False),
        (LONG + " Ask Anne.", LONG + " Ask Bob.", None, False),
        (LONG, LONG.replace("needs the key", "does not need it") + " Ask Anne.", None, False),
        ("Minutes of the weekly meeting. " * 4 + "We spoke of boats, tides and the harbour for a long while.",
         "Minutes of the weekly meeting. " * 4 + "Tomatoes want sun, water, patience; basil grows beside them,"
         " and nobody should forget to cut the lower leaves off before the first rain of the summer comes.", None, False),
        ("the deploy branch is main", "the deploy branch is release", None, False),
        ("🙂", "🙃", None, False),
        ("dark mode is what the user likes best", "what the user likes best is dark mode", 0.96, True),
        ("dark mode is what the user likes best", "what the user likes best is dark mode", 0.8, True),
        ("dark mode is what the user likes best", "dark mode is what the user likes least", 0.99, False),
        ("port 8100 is taken by the proxy", "the proxy has taken port 8200", 0.99, False),
        ("ask Anne about the invoices", "about invoices, ask Bob", 0.99, False),
        ("the user does not like meetings", "the user likes meetings", 0.99, False),
        ("ask Anne about the invoices", "ask about the invoices", 0.99, False),
        ("小王喜欢喝茶", "小李喜欢喝茶", 0.99, False),
        ("call home today", "call home tomorrow", 0.99, False),
        ("My bike is red, frame WBK20170", "My bike is red, frame WBK20155", 0.9, False),
    ],
)  # fmt: skip
def test_the_same_in_other_words_is_one_and_a_model_alone_is_not_believed(
    one: str, other: str, cosine: float | None, same: bool
) -> None:
    """What differs in a number, a name or its rest is two."""
    view = pair(one, other)
    if cosine is not None:
        view.cosines = lambda _one, _other: cosine
    assert are_one(view) == same


APART: list[dict[str, Value]] = [
    {"scope": "agent:claude"},
    {"private": True},
    {"project": "x"},
    {"remind": "2026-12-24"},
    {"compressed": True},
]


@pytest.mark.parametrize("properties", APART)
def test_nothing_gets_into_the_sight_of_others(properties: dict[str, Value]) -> None:
    assert not are_one(pair(LONG, LONG, **properties))
    same = dict(
        [
            memory_file("knowledge/One", LONG, 9, **properties),
            memory_file("knowledge/Two", LONG, 5, **properties),
        ]
    )
    assert are_one(StandInView(same)) == ("compressed" not in properties)


@pytest.mark.parametrize(
    ("one", "other", "survivor"),
    [
        ({"agent": "codex"}, {}, "Two"),  # the person's own
        ({"agent": "codex"}, {"agent": "claude"}, "One"),  # visible to the same readers
        ({"agent": "mcp"}, {"agent": "claude"}, "Two"),  # no name: only its client sees it
        ({"source": "https://example.org"}, {"agent": "claude"}, "Two"),
        ({"agent": "mcp"}, {"source": "https://example.org"}, None),
    ],
)
def test_two_writers_of_one_statement_share_the_memory_that_is_told_to_all_and_its_words(
    one: dict[str, Value], other: dict[str, Value], survivor: str | None
) -> None:
    files = dict([
        memory_file("knowledge/One", "Our accountant is Yara.", 9, tags=["a"], **one),
        memory_file("knowledge/Two", "Yara is our accountant.", 5, tags=["b"], expires_at=ago(-9), **other),
    ])  # fmt: skip
    after = merged(StandInView(files))
    if survivor is None:
        assert len(after.files) == 2
        assert not after.archived()
        return
    path = f"vaultmem/knowledge/{survivor}.md"
    (left,) = after.memories()
    assert left.path == path
    assert after.files[path].content == files[path].content
    assert sorted(left.tags) == ["a", "b"]
    for key in ("agent", "source"):
        assert left.properties.get(key) == files[path].properties.get(key)
    assert left.created == pytest.approx(min(file.mtime for file in files.values()))
    assert left.expires is None, "the longer life of the two"


def test_the_one_that_is_read_most_takes_all_in() -> None:
    files = dict([
        memory_file("inbox/Old", LONG, 40, tags=["a", "B"], importance=0.4, decay_policy="contextual"),
        memory_file("knowledge/Read", LONG + "\nAsk Anne. See [[Old]].", 3, tags=["b", "c"], aliases=["R"], importance=0.2),
        memory_file("people/Anne", "Knows [[Old#key|the backup]] and `[[Old]]`.", 3, links=["[[Old]]", "[[Bob]]"]),
        memory_file("people/Bob", "Bob", 3),
    ])  # fmt: skip
    old = files["vaultmem/inbox/Old.md"]
    more: dict[str, Value] = {"colour": "red", "links": ["[[Bob]]"]}
    files["vaultmem/inbox/Old.md"] = old._replace(properties={**old.properties, **more})
    view = StandInView(files, {}, {"vaultmem/inbox/Old.md": 2, "vaultmem/knowledge/Read.md": 5})
    _, after = view.run(merge)
    survivor = after.files["vaultmem/knowledge/Read.md"]
    assert survivor.content == LONG + "\nAsk Anne. See [[Read]]."
    given = survivor.properties
    assert given["tags"] == ["b", "c", "a"]
    assert given["aliases"] == ["R", "Old"]
    assert (given["access_count"], given["importance"], given["created_at"]) == (7, 0.4, ago(40))
    assert (given["colour"], given["links"]) == ("red", ["[[Bob]]"])
    gone = after.files["vaultmem/archive/Old.md"]
    assert gone.content == LONG
    assert gone.properties["replaced_by"] == given["id"]
    anne = after.files["vaultmem/people/Anne.md"]
    assert anne.content == "Knows [[Read#key|the backup]] and `[[Old]]`."
    assert anne.properties["links"] == ["[[Read]]", "[[Bob]]"]


def test_a_survivor_in_the_inbox_takes_the_place_of_the_filed_one_and_lives_as_long() -> None:
    files = dict([
        memory_file("inbox/A", LONG, 9, expires_at=ago(-5)),
        memory_file("preferences/B", LONG, 5),
    ])  # fmt: skip
    after = merged(StandInView(files, reads={"vaultmem/inbox/A.md": 1}))
    file = after.files["vaultmem/preferences/A.md"]
    assert "expires_at" not in file.properties
    assert file.properties["phase"] == "organized"


def optional(key: str, *values: Value) -> st.SearchStrategy[dict[str, Value]]:
    return st.sampled_from([{}, *({key: value} for value in values)])


BOTH_HAVE = st.tuples(
    optional("expires_at", ago(-3), ago(-30), ago(-300)),
    optional("tags", ["a"], ["A", "b"], ["c"]),
    optional("links", ["[[Bob]]"], ["[[Eve]]", "[[bob]]"]),
    optional("aliases", ["Backup"], ["Copies"]),
    optional("importance", 0.2, 0.9),
    optional("decay_policy", "stable", "contextual"),
    optional("last_reinforced_at", ago(1), ago(2)),
    optional("global", True),
    optional("colour", "red"),
    optional("access_count", 4),
    optional("source", "https://example.org/a"),
).map(lambda each: {key: value for one in each for key, value in one.items()})


@settings(max_examples=examples(200))
@given(BOTH_HAVE, BOTH_HAVE, st.tuples(st.integers(1, 60), st.integers(1, 60)))
def test_a_merge_keeps_the_most_of_both(
    one: dict[str, Value], other: dict[str, Value], days: tuple[int, int]
) -> None:
    files = [
        memory_file("knowledge/One", LONG, days[0], **one),
        memory_file("knowledge/Two", LONG, days[1], **other),
    ]  # fmt: skip
    view = StandInView(files)
    before, after = view.memories(), merged(view)
    (left,) = after.memories()
    assert len(after.archived()) == 1
    ends = [memory.expires for memory in before]
    known_ends = [end for end in ends if end is not None]
    assert left.expires == (max(known_ends) if len(known_ends) == 2 else None)
    assert left.created == min(memory.created for memory in before)
    assert left.importance == max((m.importance for m in before if m.importance), default=None)
    assert left.stored_reads == sum(memory.stored_reads for memory in before)
    assert (left.decay_policy == "stable") == any(m.decay_policy == "stable" for m in before)
    for key in ("global", "last_reinforced_at"):
        values = [m.properties[key] for m in before if key in m.properties]
        assert left.properties.get(key) == max(values, default=None)  # type: ignore[type-var]
    is_of_one_writer = len({m.properties.get("source") for m in before}) == 1
    for key in ("tags", "links", *(("aliases",) if is_of_one_writer else ())):
        wanted = {str(v).casefold() for m in before for v in _texts(m.properties.get(key))}
        assert wanted <= {str(value).casefold() for value in _texts(left.properties.get(key))}
    assert ("source" in left.properties) == all("source" in m.properties for m in before)
    if is_of_one_writer:
        assert left.properties.get("colour") == one.get("colour", other.get("colour"))
        assert {m.title for m in before} <= {left.title, *_texts(left.properties.get("aliases"))}


def _texts(given: Value) -> list[str]:
    return [str(each) for each in given] if isinstance(given, list) else []


def test_a_memory_restored_after_a_merge_is_not_merged_again() -> None:
    after = merged(pair(LONG, LONG))
    (gone,) = after.archived()
    file = after.files.pop(gone.path)
    back = {key: value for key, value in file.properties.items() if key not in ("deleted_at", "by")}
    view = StandInView({**after.files, "vaultmem/knowledge/Two.md": file._replace(properties=back)})
    assert view.run(merge)[0].changes == ()


def test_a_merge_that_does_not_fit_into_the_limit_waits_whole() -> None:
    files = dict([memory_file("knowledge/One", LONG, 9), memory_file("knowledge/Two", LONG, 5),
                  memory_file("people/Anne", "[[Two]]")])  # fmt: skip
    plan, _ = StandInView(files).run(merge, limit=2)
    assert plan.changes == ()
    assert plan.left == 3
    assert len(StandInView(files).run(merge, limit=3)[0].changes) == 3


def test_thousands_with_one_beginning_are_not_compared_with_each_other() -> None:
    begin = "Report of the nightly run of all the checks that we have on this machine, written by the machine. "
    words = "amber birch cedar dune ember fjord grove heath inlet jetty knoll lagoon marsh nook oasis pond".split()
    files = {}
    for n in range(150):
        own = " ".join(words[(n >> bit) % 16] + words[(n * 7 + bit) % 16] for bit in range(12))
        path, file = memory_file(f"knowledge/{n}", begin + own * 3, 1)
        files[path] = file
    view = StandInView(files)
    view.run(merge)
    assert view.asked < 150 * 16, "contents are read per pair"


texts = st.lists(
    st.sampled_from(["a line", "A line.", "another", "", "- item", "  - below", "```", "code", "~~~", "# Head", "一行", "\t- x"]),
    max_size=8,
).map("\n".join)  # fmt: skip


@settings(max_examples=examples(150))
@example("```\ncode", "a line")
@given(texts, texts)
def test_a_union_has_every_line_of_both(one: str, other: str) -> None:
    both = unite_texts(one, other)
    words = set(re.findall(r"\w+", both.casefold()))
    assert words >= set(re.findall(r"\w+", (one + " " + other).casefold()))
    assert both.startswith(one.rstrip())
    assert unite_texts(both, other) == both
    assert unite_texts(one, one) == one
    if both != one:  # what is added to code that is never closed is no code
        assert code_blocks(both)[1] == code_blocks(other)[1]


@settings(max_examples=examples(100))
@given(st.text(alphabet="[]|#`ab \n!", max_size=40))
def test_retargeting_changes_the_targets_of_links_only(text: str) -> None:
    changed = retarget_links(text, "a", "b")
    assert changed.replace("b", "a") == text.replace("b", "a")
    assert content_hash(retarget_links(changed, "a", "b")) == content_hash(changed)
