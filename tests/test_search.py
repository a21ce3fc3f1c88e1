"""Searching a vault through the API: what is found, in which order, and what is said about it."""

import sqlite3
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import fill
from tests.effort import takes_less
from vaultmem import Filter, Vault
from vaultmem.errors import DamagedError
from vaultmem.index.catalog import as_state_error
from vaultmem.search.query import Ask
from vaultmem.search.snippet import readable

NOTES = {
    "Old.md": "---\ndate: 2024-05-01\ntags: [log]\n---\nThe ferry to Stavanger was late.\n",
    "New.md": "---\ndate: 2026-05-01\ntags: [log]\n---\nA quiet day, bread and rain.\n",
    "Mid.md": "---\ndate: 2025-05-01\ntags: [log]\n---\nBread again. See [[Old]].\n",
    "Other.md": "No date, no tag, but ferry ferry ferry.\n",
    "Old.sync-conflict-20261103-081512-ABCDEFG.md": "The ferry to Stavanger was late.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with Vault(str(fill(tmp_path / "vault", NOTES))) as opened:
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


def test_names_and_filters_may_have_accents_apart(tmp_path: Path) -> None:
    """As a terminal of macOS completes the name of a file."""
    name = "Wärmepumpe"
    (tmp_path / f"{name}.md").write_text("see [[Home]]\n", "utf-8")
    (tmp_path / "Home.md").write_text(f"see [[{name}]] #{name}\n", "utf-8")
    apart = unicodedata.normalize("NFD", name)
    with Vault(str(tmp_path)) as vault:
        vault.sync()
        assert vault.find_note(apart) == vault.find_note(f"{apart}.md") == f"{name}.md"
        for query in (f"title:{apart}", f"path:{apart}", apart[:4] + "*"):
            assert f"{name}.md" in paths(vault, query), query
        assert paths(vault, f"tag:{apart}") == ["Home.md"]
        vault.set(f"{apart}.md", "Größe", "3")
    assert [each.name for each in tmp_path.glob("W*")] == [f"{name}.md"]


def test_a_misspelt_word_is_searched_in_its_nearest_spelling_and_said(vault: Vault) -> None:
    answer = vault.answer(Ask("Stavangre"))
    assert answer.results[0].path == "Old.md"
    assert answer.remarks == ['no note has "Stavangre"; searched stavanger']


def test_of_equally_near_spellings_those_with_the_first_letter_are_searched(tmp_path: Path) -> None:
    (tmp_path / "Words.md").write_text("the password is in an assorted tin\n")
    with Vault(str(tmp_path)) as vault:
        vault.sync()
        assert vault.answer(Ask("passport")).remarks == [
            'no note has "passport"; searched password'
        ]
        assert vault.answer(Ask("apssword")).remarks == [
            'no note has "apssword"; searched password'
        ]


def test_a_missing_model_gives_keyword_results_and_says_so(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", str(tmp_path / "no such folder"))
    with Vault(vault.path) as again:
        answer = again.answer(Ask("ferry", semantic=True))
    assert answer.results
    assert "keyword results only" in answer.remarks[0]


PROPERTIES = {
    "Cleo.md": ("---\ncreated: 2024-05-01\ndirector: Agnès Varda\n---\n# Plot\nTwo hours.\n", 2, 3),
    "Vagabond.md": ("---\ntags: [film]\n---\nA film by Agnès Varda, in winter.\n", 4, 4),
    "釜山行.md": ("---\ndirector: 延尚昊\n---\n很好看。\n", 2, 2),
    "Klara.md": ("---\nbirth-date: 1990-05-03\n---\nMy sister.\n", 2, 2),
    "Old.md": (
        "---\ndate created: 1990-05-03\npublished: 2024-05-01\norder: 5\n---\nText.\n",
        6,
        6,
    ),
}


def test_what_stands_in_properties_is_found_like_any_words(vault: Vault) -> None:
    """Whoever keeps films, books and people keeps most of what they know there."""
    for path, (text, *_) in PROPERTIES.items():
        Path(vault.path, path).write_text(text)
    vault.sync()

    def found(query: str) -> dict[str, tuple[int, int]]:
        return {hit.path: (hit.line, hit.end_line) for hit in vault.search(query)}

    places = {path: (first, last) for path, (_, first, last) in PROPERTIES.items()}
    films = {path: places[path] for path in ("Cleo.md", "Vagabond.md")}
    assert found("varda") == found('"agnès varda"') == films
    assert found("birth") == {"Klara.md": places["Klara.md"]}
    assert found("order") == {}
    assert found("延尚昊") == {"釜山行.md": places["釜山行.md"]}
    (hit,) = (hit for hit in vault.search("varda") if hit.path == "Cleo.md")
    assert hit.content == "created: 2024-05-01\ndirector: Agnès Varda"
    assert "Varda" in hit.snippet
    assert found("created") == {"Cleo.md": (2, 3)}, "tags and days of the note alone are no block"


SHOWN = {
    "director: '[[Agnès Varda]]'\ncast:\n  - '[[Sandrine Bonnaire]]'\n- Macha Méril\nseen: [2024, true]\ncover:\ntype: []\nplot: >\n  A drifter\n\n  is found.":
        "director: [[Agnès Varda]]; cast: [[Sandrine Bonnaire]], Macha Méril; seen: 2024, true; plot: A drifter is found.",
    "director: Varda\n  # a remark: of hers\nyear: 1985": "director: Varda; year: 1985",
    "director: Varda\nThe film begins": None,
    "Director: Varda": None,
    "- director: Varda": None,
    "": None,
}  # fmt: skip
FILM = {"director": "[[Agnès Varda]]", "cast": ["[[Sandrine Bonnaire]]", "Macha Méril"], "seen": [2024, True],
        "cover": None, "type": [], "plot": "A drifter\nis found.\n", "year": 1985}  # fmt: skip


@pytest.mark.parametrize("text", SHOWN)
def test_front_matter_is_shown_in_a_line_and_all_else_as_it_is(text: str) -> None:
    film = FILM if "[[" in text else {**FILM, "director": "Varda"}
    assert readable(text, film) == (text if SHOWN[text] is None else SHOWN[text])
    assert readable(text, {}) == text


def test_lines_of_a_note_that_look_like_its_front_matter_are_shown_as_they_are(
    vault: Vault,
) -> None:
    text = "---\nstatus: playing\n---\nstatus: no juggler plays\n"
    Path(vault.path, "Circus.md").write_text(text)
    vault.sync()
    shown = [one.snippet for one in vault.search('"no juggler"')]
    recalled = [one["content"] for one in vault.recall("does no juggler play?")["memories"]]
    assert shown == ["status: no juggler plays"]
    assert any("no juggler plays" in one for one in recalled)


def test_properties_that_are_many_or_unreadable_are_found_in_small_blocks(vault: Vault) -> None:
    lines = "".join(f"key{number}: value of number {number}\n" for number in range(400))
    Path(vault.path, "Many.md").write_text(f"---\n{lines}animal: giraffe\n---\nText.\n")
    Path(vault.path, "Bad.md").write_text("---\nanimal: [lion\n---\nText.\n")
    vault.sync()
    (hit,) = vault.search("giraffe")
    assert (hit.path, hit.end_line) == ("Many.md", 402)
    assert hit.content.endswith("animal: giraffe")
    assert len(hit.content) < 1500
    (hit,) = vault.search("lion")
    assert (hit.path, hit.content) == ("Bad.md", "animal: [lion")


def test_what_describes_a_page_of_logseq_is_found(tmp_path: Path) -> None:
    text = "type:: [[Feature]]\ndescription:: Keeps [[sets]] of pages together\n\n- Two namespaces\n- exist\n"
    graph = fill(tmp_path, {"logseq/config.edn": "{}", "pages/Namespaces.md": text})
    with Vault(str(graph)) as opened:
        opened.sync()
        (hit,) = opened.search("keeps together")
        assert (hit.line, hit.end_line, hit.content) == (1, 2, text.partition("\n\n")[0])
        (below,) = opened.search("exist")
        assert (below.line, below.end_line) == (4, 5)


def test_properties_of_blocks_in_logseq_are_found_but_for_its_own(tmp_path: Path) -> None:
    text = "- Bought the kettle\n  shop:: Rossmann, on the corner\n  background-color:: green\n- maker:: Alessi\n"
    text += f"- {'long ' * 300}\n  lender:: Ms Okafor\n"
    with Vault(str(fill(tmp_path, {"logseq/config.edn": "{}", "pages/K.md": text}))) as opened:
        opened.sync()
        for words in ("rossmann", "alessi", "okafor"):
            assert [hit.path for hit in opened.search(words)] == ["pages/K.md"], words
        assert opened.search("green") == []


def test_properties_of_a_memory_are_not_its_words(vault: Vault) -> None:
    vault.write("The kettle is red.", by="claude", source="https://example.org/kettles")
    vault.sync()
    assert vault.search("claude") == vault.search("semantic") == []


def test_an_open_vault_sees_what_another_writes(vault: Vault) -> None:
    with Vault(vault.path) as other:
        assert paths(vault, "lamp") == []
        Path(vault.path, "Two.md").write_text("A lamp.")
        other.sync()
        assert paths(vault, "lamp") == ["Two.md"]
        Path(vault.path, "Three.md").write_text("A second lamp.")
        other.sync(rebuild=True)
        assert len(paths(vault, "lamp")) == 2


def test_markers_of_tasks_relate_no_notes(tmp_path: Path) -> None:
    """The reasons name words of the notes, and none that their editor reads."""
    text = "- DOING paint the fence\n- #+BEGIN_QUERY\n  {:title fences}\n  #+END_QUERY\n"
    notes = {"One.md": text, "Two.md": text, "Other.md": "- rain\n\n\n- wind\n" * 9}
    with Vault(str(fill(tmp_path, {"logseq/config.edn": "{}", **notes}))) as vault:
        vault.sync()
        (two,) = (one for one in vault.related("One") if one.path == "Two.md")
    shared = two.reasons[-1].removeprefix("shares words: ").split(", ")
    assert {"paint", "fence"} <= {*shared}
    assert not {"DOING", "BEGIN_QUERY", "END_QUERY"} & {*shared}


def test_names_of_properties_and_addresses_relate_no_notes_and_templates_stay_behind(tmp_path: Path) -> None:  # fmt: skip
    text = "---\ncover: https://example.org/a\ndirector: Varda\n---\nSee https://example.org/films of the coast.\n"
    notes = {"Cleo.md": text, "Vagabond.md": text, "Templates/Film.md": text}
    with Vault(str(fill(tmp_path, {**notes, "Other.md": "- rain\n\n\n- wind\n" * 9}))) as vault:
        vault.sync()
        near = vault.related("Cleo")
    assert [one.path for one in near] == ["Vagabond.md", "Templates/Film.md"]
    shared = near[0].reasons[-1].removeprefix("shares words: ").split(", ")
    assert {*shared} == {"See", "Varda", "coast"}


def test_a_note_with_very_many_links_is_related_in_no_time(vault: Vault) -> None:
    """Every link is looked at once, not once for each other one that leads to the same note."""
    folder = Path(vault.path)
    (folder / "Hub.md").write_text("[[Old]] [[Mid]]\n" * 10_000)
    vault.sync()
    assert takes_less(2.0, lambda: vault.related("Mid"))
    found = {one.path: one.reasons for one in vault.related("Mid")}
    assert "links to it" in found["Hub.md"][0]
    assert any("linked by the same notes" in each for each in found["Old.md"])


def test_very_many_filters_are_no_damage(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault, "sync", None)  # no rebuild
    tags = [f"t{number}" for number in range(1_500)]
    assert vault.search("ferry", tags=tags) == []
    assert vault.search("ferry " + " ".join(f"-tag:{tag}" for tag in tags))
    assert vault.search("ferry", tags=["x" * 60_000]) == []
    error = sqlite3.OperationalError("too many SQL variables")
    assert not isinstance(as_state_error(error), DamagedError)
