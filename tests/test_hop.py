"""A question whose answer stands beside a name that only another line gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Write
from vaultmem import Vault

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
    """What a recall tells."""
    return [str(one["content"]) for one in vault.recall(question, **how)["memories"]]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("where does Anne's sister live?", "Marta moved to Ghent in the spring"),
        ("what does the person who repaired the violin want?", "They charge 80 euros an hour"),
    ],
)
def test_a_name_leads_on_and_the_report_says_so(told: Vault, question: str, answer: str) -> None:
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


def test_where_nothing_is_named_there_is_no_second_round(told: Vault) -> None:
    for question in ("something unheard of", "cat kitchen"):
        report = told.recall(question, explain=True)
        assert not any("hop" in one["parts"] for one in report["memories"]), question
