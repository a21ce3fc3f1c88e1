"""Laws of blocks: no piece is lost or doubled, sizes are bounded, speakers stay apart."""

import re
from collections import Counter
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import is_linear
from vaultmem.adapter import Piece
from vaultmem.notes.blocks import (
    MAX_TOKENS,
    MIN_TOKENS,
    WINDOW_WORDS,
    Block,
    as_turn,
    count_tokens,
    group,
    neighbour_text,
)
from vaultmem.text.values import without_editor_lines

LETTERS = st.text("ab .!?\nAB这。é", min_size=1, max_size=60)
LONG = st.builds(lambda text, times: text * times, LETTERS, st.integers(1, 60))


@st.composite
def notes(draw: st.DrawFn) -> list[Piece]:
    """Pieces as a dialect gives them: in order, each with its lines."""
    pieces, line = [], 1
    headings: tuple[str, ...] = ()
    for number, text in enumerate(draw(st.lists(LONG, max_size=12))):
        if draw(st.integers(0, 3)) == 0:
            headings = (*headings[: draw(st.integers(0, 2))], f"Heading {number}")
        label = draw(st.sampled_from([None, None, "Ann", "Ben", f"Once {number}"]))
        kind = draw(st.sampled_from(["text", "list", "code", "table"]))
        end = line + text.count("\n")
        pieces.append(Piece(text, line, end, headings, kind, label))
        line = end + draw(st.integers(1, 3))
    return pieces


def letters(text: str) -> Counter[str]:
    return Counter(c for c in text if not c.isspace())


@given(notes())
def test_every_text_is_in_exactly_one_block(pieces: list[Piece]) -> None:
    blocks = group(pieces)
    joined = "\n".join(block.text for block in blocks)
    for heading in {heading for piece in pieces for heading in piece.headings}:
        # a skipped heading goes into the text
        joined = re.sub(rf"^{heading}$", "", joined, flags=re.MULTILINE)
    assert letters(joined) == letters("".join(piece.text for piece in pieces))


@given(notes())
def test_lines_are_in_order_and_inside_the_note(pieces: list[Piece]) -> None:
    blocks = group(pieces)
    last = max((piece.end_line for piece in pieces), default=1)
    for block in blocks:
        assert 1 <= block.line <= block.end_line <= last
    for before, after in pairwise(blocks):
        assert before.line <= after.line
        assert before.end_line <= after.line or before.end_line <= after.end_line


@given(notes())
def test_blocks_start_with_what_their_first_line_holds(pieces: list[Piece]) -> None:
    """A block's line is where its text begins, so that a person who goes there finds it."""
    lines: dict[int, str] = {}
    for piece in pieces:
        for offset, line in enumerate(piece.text.split("\n")):
            lines[piece.line + offset] = lines.get(piece.line + offset, "") + line
    for block in group(pieces):
        within = "".join(lines.get(number, "") for number in range(block.line, block.end_line + 1))
        first = "".join(block.text.split("\n")[0].split())
        assert first in "".join(within.split())


@given(notes())
def test_sizes(pieces: list[Piece]) -> None:
    blocks = group(pieces)
    glue = 40  # blank lines between pieces, and skipped headings
    for block in blocks:
        assert count_tokens(block.text) <= MAX_TOKENS + glue
    for before, after in pairwise(blocks):
        sizes = count_tokens(before.text), count_tokens(after.text)
        if not before.label and not after.label and sum(sizes) + glue <= MAX_TOKENS:
            assert sizes[0] >= MIN_TOKENS - glue, "a short block takes what follows"
            if before.headings == after.headings:
                assert sizes[1] >= MIN_TOKENS - glue, "and joins a block of its own section"


@given(
    st.lists(st.tuples(st.integers(1, 3), st.lists(st.integers(1, 1600), max_size=4)), max_size=6)
)
def test_no_block_ends_on_the_heading_of_the_next(sections: list[tuple[int, list[int]]]) -> None:
    pieces: list[Piece] = []
    above: tuple[str, ...] = ()
    for number, (level, lengths) in enumerate(sections):
        above, title = above[: level - 1], f"Heading {number}"
        pieces.append(Piece(title, 2 * len(pieces) + 1, 2 * len(pieces) + 1, above, "heading"))
        above = (*above, title)
        for length in lengths:
            line = 2 * len(pieces) + 1
            pieces.append(Piece("Some text. " * (length // 11 + 1), line, line, above))
    for before, after in pairwise(group(pieces)):
        last = before.text.rpartition("\n")[2]
        assert not (last.startswith("Heading") and last in after.headings)


@given(notes())
def test_speakers_stay_apart(pieces: list[Piece]) -> None:
    counts = Counter(piece.label for piece in pieces if piece.label)
    found = [block for block in group(pieces) if block.label]
    heard = {block.label for block in found}
    assert all(counts[label] > 1 for label in heard)
    listed = not any(p.label in heard and p.kind != "list" for p in pieces)
    for piece in pieces:
        is_turn = piece.label in heard and (listed or piece.kind != "list")
        if is_turn and piece.text.strip() and count_tokens(piece.text) <= MAX_TOKENS:
            assert any(
                (b.text, b.label, b.line) == (piece.text, piece.label, piece.line) for b in found
            )


def heard_in(*leads: tuple[str, str]) -> list[str]:
    """The speakers, in order, in a note whose pieces begin with these bold leads, each with the kind of its piece."""
    long = "There is much to say about the boiler of this house. " * 6  # stays a block of its own
    pieces = [
        Piece(f"{label} {long}{at}", at, at, (), kind, label or None)
        for at, (kind, label) in enumerate(leads, 1)
    ]
    return [block.label for block in group(pieces) if block.label]


def test_bold_leads_in_the_answer_of_an_assistant_do_not_speak() -> None:
    you, answer = ("text", "You"), ("text", "Assistant")
    rated = [("list", "Rating"), ("list", "Cost")] * 2
    tasks = [("text", "Task 1"), ("text", "Task 2")]
    for leads in (rated, tasks):
        assert heard_in(you, answer, *leads, you, answer, *leads) == ["You", "Assistant"] * 2
    rare = [("text", "Note")] * 2
    assert heard_in(*[you, answer] * 9, *rare) == ["You", "Assistant"] * 9


def under(*names: str, parents: tuple[str, ...] = ("Talk",)) -> list[Piece]:
    """The pieces of a note with these headings, each with a paragraph, a list with a bold lead and a subheading."""
    pieces: list[Piece] = []
    for parent, name in product(parents, names):
        line, above = 8 * len(pieces), (parent, name)
        pieces += [
            Piece(name, line + 1, line + 1, (parent,), "heading"),
            Piece("My bus is late.", line + 3, line + 3, above),
            Piece("Tip: walk", line + 4, line + 4, above, "list", "Tip"),
            Piece("Tip", line + 5, line + 5, above, "heading"),
            Piece("Take a book.", line + 7, line + 7, (*above, "Tip")),
        ]
    return pieces


def test_two_headings_that_take_turns_are_speakers_and_nothing_else_is() -> None:
    for names in (("You", "Guide") * 2, ("You:", "Guide:") * 2):
        turns = [block for block in group(under(*names)) if block.label]
        assert [block.label for block in turns] == ["You", "Guide"] * 2
        assert {block.text.partition(": ")[2] for block in turns} == {"My bus is late."}
        assert [block.line for block in turns] == [1, 41, 81, 121]
    for pieces in (
        under("Done", "Next", parents=("Monday", "Tuesday")),
        under("Done", "Next", "Risks", parents=("Monday", "Monday")),
    ):
        assert {block.label for block in group(pieces)} <= {None, "Tip"}


def test_a_bold_name_alone_on_its_line_speaks_in_the_paragraph_below_it() -> None:
    leads = [Piece(f"{name}:", at, at, (), "text", name) for at, name in ((1, "You"), (5, "Guide"))]
    turns = [[lead, Piece("So late!", lead.line + 2, lead.line + 2)] for lead in leads]
    blocks = group([*turns[0], *turns[1]] * 2)
    assert [(block.label, block.text) for block in blocks] == [
        ("You", "You: So late!"), ("Guide", "Guide: So late!"),
    ] * 2  # fmt: skip
    assert (blocks[0].line, blocks[0].end_line) == (1, 3)


@pytest.mark.parametrize("time", ["", "[13:56] ", "[2023-05-08]", "(8 May 2023, 1:56 pm) "])
def test_a_turn_is_spoken_by_the_name_before_its_colon(time: str) -> None:
    for text, speaker in ((f"{time}Ann Lee: hello", "Ann Lee"), (f"{time}well, hello", "user")):
        assert [block.label for block in as_turn([Block(text, 1, 1)], "user")] == [speaker]


@pytest.mark.parametrize("letter", ["a", "这", "a ", "\n", "。", ". A", ":LOGBOOK:\n"])
def test_time_is_linear(letter: str) -> None:
    def grouped(length: int) -> None:
        text = letter * (length // len(letter))
        group([Piece(text, 1, 1 + text.count("\n"))])
        without_editor_lines(text)

    assert is_linear(grouped, 10_000, 80_000)


@given(st.lists(st.builds(Block, LONG, st.just(1), st.just(1)), min_size=1, max_size=6), st.data())
def test_neighbours(blocks: list[Block], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(blocks) - 1))
    near = neighbour_text(blocks, at)
    others = "".join(block.text for n, block in enumerate(blocks) if n != at and abs(n - at) <= 2)
    assert not letters(near) - letters(others)
    words = [count_tokens(text) * 3 // 4 for text in (blocks[at].text, near)]
    # a part is measured by its letters: dense scripts count up to four times
    assert words[1] <= 4 * WINDOW_WORDS + 10
    if len(blocks) == 1 or words[0] >= WINDOW_WORDS:
        assert near == ""


def test_who_speaks_in_list_items_or_by_number_is_heard_where_nobody_else_is() -> None:
    assert heard_in(*[("list", "Anne"), ("list", "Bo")] * 2) == ["Anne", "Bo"] * 2
    assert (
        heard_in(*[("text", "Speaker 1"), ("text", "Speaker 2")] * 2)
        == ["Speaker 1", "Speaker 2"] * 2
    )
