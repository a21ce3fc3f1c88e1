"""Searching a vault through the API: what is found, in which order, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.effort import takes_less
from vaultmem import Filter, Vault
from vaultmem.search.query import Ask

NOTES = {
    "Old.md": "---\ndate: 2024-05-01\ntags: [log]\n---\nThe ferry to Stavanger was late.\n",
    "New.md": "---\ndate: 2026-05-01\ntags: [log]\n---\nA quiet day, bread and rain.\n",
    "Mid.md": "---\ndate: 2025-05-01\ntags: [log]\n---\nBread again. See [[Old]].\n",
    "Other.md": "No date, no tag, but ferry ferry ferry.\n",
    "Old.sync-conflict-20261103-081512-ABCDEFG.md": "The ferry to Stavanger was late.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    folder = tmp_path / "vault"
    for path, text in NOTES.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with Vault(str(folder)) as opened:
        opened.sync()
        yield opened


def paths(vault: Vault, text: str, **options: object) -> list[str]:
    return [result.path for result in vault.search(text, **options)]  # type: ignore[arg-type]  # tests


def test_filters_alone_give_the_newest_notes_first(vault: Vault) -> None:
    assert paths(vault, "tag:log") == ["New.md", "Mid.md", "Old.md"]
    assert paths(vault, "tag:log", limit=1) == ["New.md"]
    assert paths(vault, "tag:log -rain") == ["Mid.md", "Old.md"]
    since = paths(vault, "", filters=[Filter("from", "2025"), Filter("tag", "log")])
    assert since == ["New.md", "Mid.md"]


def test_a_misspelt_word_is_searched_in_its_nearest_spelling_and_said(vault: Vault) -> None:
    answer = vault.answer(Ask("stavangre"))
    assert answer.results[0].path == "Old.md"
    assert answer.remarks == ['no note has "stavangr"; searched stavang']


@pytest.mark.parametrize("path", ["Old.md", "Other.md", "New.md"])
def test_why_adds_up(vault: Vault, path: str) -> None:
    why = vault.why("ferry to Stavanger in 2024", path)
    if why.score is None:
        assert why.rank is None
        assert why.remarks
    else:
        assert sum(why.parts.values()) == pytest.approx(why.score, abs=0.01)


def test_a_missing_model_gives_keyword_results_and_says_so(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", str(tmp_path / "no such folder"))
    with Vault(vault.path) as again:
        answer = again.answer(Ask("ferry", semantic=True))
    assert answer.results
    assert "keyword results only" in answer.remarks[0]


def test_a_note_of_nothing_but_properties_shows_these(vault: Vault) -> None:
    Path(vault.path, "Heat.md").write_text("---\ngenre: [crime, drama]\nyear: 1995\n---\n")
    vault.sync()
    (result,) = vault.search("heat")
    assert result.content == "genre: crime, drama\nyear: 1995"
    assert "crime" in result.snippet


def test_an_open_vault_sees_what_another_writes(vault: Vault) -> None:
    with Vault(vault.path) as other:
        assert paths(vault, "lamp") == []
        Path(vault.path, "Two.md").write_text("A lamp.")
        other.sync()
        assert paths(vault, "lamp") == ["Two.md"]
        Path(vault.path, "Three.md").write_text("A second lamp.")
        other.sync(rebuild=True)
        assert len(paths(vault, "lamp")) == 2


def test_a_note_with_very_many_links_is_related_in_no_time(vault: Vault) -> None:
    """Every link is looked at once, not once for each other one that leads to the same note."""
    folder = Path(vault.path)
    (folder / "Hub.md").write_text("[[Old]] [[Mid]]\n" * 10_000)
    vault.sync()
    assert takes_less(2.0, lambda: vault.related("Mid"))
    found = {one.path: one.reasons for one in vault.related("Mid")}
    assert "links to it" in found["Hub.md"][0]
    assert any("linked by the same notes" in each for each in found["Old.md"])
