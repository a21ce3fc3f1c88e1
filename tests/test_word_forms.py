"""Forms of words in other languages in Latin letters are found, in vaults that are written in them and in no others."""

from pathlib import Path

import pytest

from tests.test_keyword import found, write
from vaultmem.search.keyword_search import KeywordSearcher
from vaultmem.search.query import parse

# A text, and words that are not in it, of which other forms are.
WRITTEN = {
    "danish": ("Hun talte også om husene og hvad der blev af billederne.", "huset billede"),
    "dutch": ("Het is een deur voor de verwarming, niet zijn schilderij.", "deuren schilderijen"),
    "finnish": ("Hän sanoi että talossa on kirjat, mutta niin kun ja jos.", "talo kirja"),
    "french": ("Il a gardé les factures dans une boîte avec des chevaux.", "facture cheval"),
    "german": ("Wir haben drei Häuser und eine Wohnung, auch nicht billig.", "Haus Wohnungen"),
    "hungarian": ("Azt mondta hogy a házban van egy könyv, nem kettő volt.", "házak könyvek"),
    "italian": ("Le fatture sono nella scatola, anche quelle che della casa gli ho dato.", "fattura scatole"),
    "norwegian": ("Noe av regningene ligger ikke her, også husene og båten.", "regning huset"),
    "portuguese": ("As casas não são caras, mas uma fica com mais janelas.", "casa janela"),
    "romanian": ("Copiii sunt aici, este și o bucătărie din lemn pentru prieteni.", "bucătăriei prieten"),
    "spanish": ("Guardó los recibos por una razón, como las canciones.", "recibo canción"),
    "swedish": ("Hon sade att husen inte är dyra, och också från räkningarna.", "huset räkning"),
    "turkish": ("Evler için bir kitap ile gibi olarak geldi.", "evlerin kitaplar"),
}  # fmt: skip
ENGLISH = "The houses are old, and a bill for the heating came with the letters."


@pytest.mark.parametrize("language", WRITTEN)
def test_forms_are_found_in_their_language(language: str, tmp_path: Path) -> None:
    text, others = WRITTEN[language]
    write(tmp_path, {1: text, 2: ENGLISH})
    searcher = KeywordSearcher(str(tmp_path))
    for word in others.split():
        assert found(searcher, word) == [1], word
        assert searcher.unknown_words(parse(word)) == [], "a form is no misspelling"
    assert found(searcher, "billing houses") == [2]


def test_little_words_of_english_are_no_forms(tmp_path: Path) -> None:
    """The stem of "Hasen" is "has", that of "Noten" is "not"."""
    german, _ = WRITTEN["german"]
    english = {4: "He has a plan", 5: "It is not here"}
    write(tmp_path, {1: german, 2: "Der Hase mit den Noten", 3: "Drei Hasen ohne Note", **english})
    searcher = KeywordSearcher(str(tmp_path))
    for word in ("Hase", "Hasen", "Note", "Noten"):
        assert sorted(found(searcher, word)) == [2, 3], word


def test_the_beginning_of_a_word_may_have_accents(tmp_path: Path) -> None:
    write(tmp_path, {1: "Die Wärmepumpe in der Schloßstraße", 2: "Une théière"})
    searcher = KeywordSearcher(str(tmp_path))
    for typed, notes in {"wärme*": [1], "Schloßs*": [1], "schlosss*": [1], "thé*": [2]}.items():
        assert found(searcher, typed) == notes, typed


def test_a_word_that_most_notes_have_is_found_in_its_other_forms_too(tmp_path: Path) -> None:
    """As "Haus" in the notes of somebody who builds one, or in the first three notes of a vault."""
    text, _ = WRITTEN["german"]
    write(tmp_path, {1: text, 2: "Das Haus am See", 3: "Ein Haus am Meer"})
    assert sorted(found(KeywordSearcher(str(tmp_path)), "Haus")) == [1, 2, 3]


def test_words_that_only_join_others_tell_nothing_in_their_language(tmp_path: Path) -> None:
    write(tmp_path / "de", {1: WRITTEN["german"][0], 2: ENGLISH})
    write(tmp_path / "en", {2: ENGLISH})
    here, elsewhere = (KeywordSearcher(str(tmp_path / name)).vocabulary for name in ("de", "en"))
    assert here.content_words("Wo war die Wohnung?") == {"wohnung"}
    assert elsewhere.content_words("Wo war die Wohnung?") == {"wo", "war", "die", "wohnung"}
