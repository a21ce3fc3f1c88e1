"""Answers that stand beside what a question names: in a line with another name, or in the turn before or after."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Write
from vaultmem import Vault
from vaultmem.index import ORD_BITS
from vaultmem.search.query import Ask
from vaultmem.search.seats import GAP, Seats, Turn

OTHERS = (
    "Greta lives in Bruges, near the station", "A cat lives in the kitchen of Anne",
    "The sister of Tom lives on a farm", "Olga lives with her sister in Leeds",
)  # fmt: skip


@pytest.fixture
def told(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """A vault with both lines of the answer, and others."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    opened = Vault(str(vault))
    texts = "Anne's sister is called Marta", "Marta moved to Ghent in the spring", *OTHERS
    for number, text in enumerate(texts):
        head = f"---\nid: person-{number}\ncreated_at: 2026-10-01T12:00:00Z\n---\n"
        write(f"vaultmem/people/{number}.md", f"{head}{text}\n")
    write("Violin.md", "The violin of the orchestra was repaired by [[Atelier Brandt]]")
    write("Atelier Brandt.md", "They charge 80 euros an hour and close in August.")
    write("Prices.md", "An hour of a plumber costs 60 euros, who repaired it charges more.")
    write("Secret.md", "---\nprivate: true\n---\nMarta lives with a spy in Ghent")
    opened.sync()
    return opened


def contents(vault: Vault, question: str, **how: object) -> list[str]:
    """The contents of a recall."""
    return [str(one["content"]) for one in vault.recall(question, **how)["memories"]]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("where does Anne's sister live?", "Marta moved to Ghent in the spring"),
        ("what does the person who repaired the violin want?", "They charge 80 euros an hour"),
    ],
)
def test_a_name_leads_to_a_reported_second_round(told: Vault, question: str, answer: str) -> None:
    report = told.recall(question, explain=True)
    found = [one for one in report["memories"] if str(one["content"]).startswith(answer)]
    assert found
    assert found[0]["parts"]["hop"] > 0
    (step,) = [one for one in report["explain"] if one["step"] == "hop"]
    name = "Marta" if "sister" in question else "Atelier Brandt"
    assert name in step["did"]
    assert not any("spy" in text for text in contents(told, question))
    ranks = [
        next((n for n, text in enumerate(each) if text.startswith(answer)), 99)
        for each in (contents(told, question), contents(told, question, without=["hop"]))
    ]
    assert ranks[0] < ranks[1]


@pytest.fixture
def named(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Vault:
    """A vault that knows the person by two names, and others."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    opened = Vault(str(vault))
    texts = (
        "The user's name is Mara Okafor.", "I work at Nordwind as a data engineer", "I live in Lisbon.",
        "我叫李明", "我住在波尔图", "My dog's name is Rex", "My sister's name is Olga", "Mara's desk stands at the window",
    )  # fmt: skip
    for number, text in enumerate(texts):
        head = f"---\nid: own-{number}\ncreated_at: 2026-10-01T12:00:00Z\n---\n"
        write(f"vaultmem/people/{number}.md", f"{head}{text}\n")
    for number in range(20):
        write(f"Gauge {number}.md", f"The gauge {number} is live, Mara and Olga Okafor work on it")
    opened.sync()
    return opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where does Mara live?", "I live in Lisbon."), ("Where does mara okafor work?", "I work at Nordwind"),
        ("Which town is Mara's, where she lives?", "I live in Lisbon."), ("李明住在哪里？", "我住在波尔图"),
        ("Where does Mara's desk stand?", "Mara's desk stands at the window"),
    ],
)  # fmt: skip
def test_the_persons_own_name_is_the_person(named: Vault, question: str, answer: str) -> None:
    (step,) = [
        one
        for one in named.recall(question, notes=False, explain=True)["explain"]
        if one["step"] == "name"
    ]
    assert "own name" in step["did"]
    found = contents(named, question, notes=False)
    assert any(text.startswith(answer) for text in found[:4]), found


@pytest.mark.parametrize(
    "question",
    ["Who is Mara?", "Mara", "Where does Olga live?", "What does Rex eat?", "What did Dr Okafor say?", "which gauge is live?"],
)  # fmt: skip
def test_other_names_stay_what_they_are(named: Vault, question: str) -> None:
    report = named.recall(question, explain=True)
    assert not [one for one in report["explain"] if one["step"] == "name"]


# --- Turns of conversations


turns = st.builds(
    Turn,
    st.sampled_from("ab"), st.sampled_from([0.0, 1.0, 2.0, GAP + 5]), st.booleans(),
    st.just(0), st.sampled_from(["", "s"]), st.integers(1, 3),
)  # fmt: skip


@given(st.lists(turns, max_size=12))
def test_blocks_of_a_session_sit_in_the_order_of_the_conversation(made: list[Turn]) -> None:
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


def test_a_short_answer_is_found_by_its_question_and_its_speaker(tmp_path: Path) -> None:
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


def test_where_nothing_is_named_there_is_no_second_round(told: Vault) -> None:
    for question in ("something unheard of", "cat kitchen"):
        report = told.recall(question, explain=True)
        assert not any("hop" in one["parts"] for one in report["memories"]), question
