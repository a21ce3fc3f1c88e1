"""Turns of conversations are found with what stands beside them, as the paragraphs of a note are."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem import Vault
from vaultmem.index import ORD_BITS
from vaultmem.search.query import Ask
from vaultmem.search.search import Searcher
from vaultmem.search.seats import GAP, Seating, Seats, Turn

turns = st.builds(
    Turn,
    st.sampled_from("ab"), st.sampled_from([0.0, 1.0, 2.0, GAP + 5]), st.booleans(),
    st.just(0), st.sampled_from(["", "s"]), st.integers(1, 3),
)  # fmt: skip


@given(st.lists(turns, max_size=12))
def test_blocks_of_a_session_sit_side_by_side_in_the_order_of_the_conversation(
    made: list[Turn],
) -> None:
    numbered = [turn._replace(note=note) for note, turn in enumerate(made, 7)]
    seats = Seats(reversed(numbered))
    blocks = [t.note << ORD_BITS | n for t in sorted(numbered) for n in range(t.blocks)]
    places = [seats.of(block) for block in blocks]
    assert len(set(places)) == len(places)
    for one, other, seat, following in zip(blocks, blocks[1:], places, places[1:], strict=False):
        is_beside = following == seat + 1
        assert is_beside == (other >> ORD_BITS in seats.mates([one >> ORD_BITS]))
        assert is_beside == (other in seats.around({one: 1.0}))
    assert seats.of(3 << ORD_BITS) == 3 << ORD_BITS  # no turn


def test_a_short_answer_is_found_by_the_question_before_it_and_by_the_name_of_who_speaks(
    tmp_path: Path,
) -> None:
    vault = Vault(str(tmp_path))
    talk = [
        ("user", "Nadia: Which colour has the nursery?"),
        ("assistant", "Tom: Sage green, since the weekend."),
        ("user", "Nadia: My bicycle has a puncture again."),
        ("assistant", "Tom: Bring it round tomorrow."),
    ]
    roles = "user", "assistant"
    talk += [(roles[n % 2], f"We talked of item {n} for long.") for n in range(40)]
    new = [
        {"role": role, "content": text, "created_at": f"2026-03-01T10:{number:02}:00Z"}
        for number, (role, text) in enumerate(talk)
    ]
    vault.converse("home", new=new)
    vault.sync()

    def found(query: str) -> list[str]:
        hits = vault.searcher().search(Ask(query, 3, talks=True, group="block")).results
        return [str(hit.content) for hit in hits]

    assert any("Sage green" in text for text in found("colour of the nursery"))
    assert found("Tom tomorrow")[0].endswith("tomorrow.")
    labels = vault.searcher().search(Ask("nursery Sage item", 50, talks=True)).results
    assert {hit.label for hit in labels} == {"Nadia", "Tom", "user", "assistant"}
    recalled = vault.recall("colour of the nursery", scope=["conversation:home"])["memories"]
    parts = [one["parts"] for one in recalled]
    assert any("Sage green" in one["content"] for one in recalled), parts
    vault.close()


def test_only_turns_that_changed_are_read_again_and_only_for_a_search_among_turns(
    tmp_path: Path,
) -> None:
    vault = Vault(str(tmp_path))
    vault.write("The zebra of Anne is called Otto")
    turns = [{"role": "user", "id": f"t{n}", "content": f"A zebra, number {n}"} for n in range(4)]
    vault.converse("home", new=turns)
    vault.converse("work", new=[{**one, "id": f"w{n}"} for n, one in enumerate(turns)])
    vault.sync()
    searcher = Searcher(vault.path, vault.config)
    statements: list[str] = []
    searcher.catalog.db.set_trace_callback(statements.append)

    def reads(talks: bool = True) -> list[str]:
        """How turns are read for a search."""
        searcher.refresh()
        statements.clear()
        searcher.search(Ask("zebra", 9, talks=talks, semantic=False))
        return [one for one in statements if "/turns/" in one]

    assert not reads(talks=False)
    assert len(reads()) == 1
    seating = Seating(searcher.catalog, "vaultmem")
    seats = seating.now()
    vault.write("A zebra elsewhere")
    vault.sync()
    assert seating.now() is seats
    for changes in (
        {"new": [{"role": "user", "id": "t9", "content": "One more zebra\n\nand one"}]},
        {"retire": [{"id": "t1"}, {"id": "t2"}]},
    ):
        vault.converse("home", **changes)
        vault.sync()
        searcher.catalog.db.set_authorizer(lambda *args: int("blocks" in args))
        with pytest.raises(sqlite3.DatabaseError, match="prohibited"):
            seating.now()
        searcher.catalog.db.set_authorizer(None)
        (statement,) = reads()
        assert "json_each('[" in statement
        assert vars(seating.now()) == vars(Seating(searcher.catalog, "vaultmem").now())
        assert seating.now() is not seats
        seats = seating.now()
    searcher.close()
    vault.close()
