"""The words of the index, and which of them a word of a query may mean: its forms and its nearest spellings.

The index stems Latin letters by English rules only, so that texts need not be sorted by language. Forms in other
languages are looked up at search time: words that begin alike and have the same stem in a language of the notes.
Those languages are recognized by words that are frequent in no other language.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import product

from vaultmem.index.keyword import (
    MOST_REMEMBERED,
    folded,
    keyword_errors,
    stemmer,
    tokenize,
    without_stop_words,
    words,
)
from vaultmem.search import rank
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import tantivy

MIN_CORRECTED = 4  # letters of a stem; shorter ones resemble too many others
MIN_INFLECTED = 4
MOST_FORMS = 10
# A language is in use if three of its words are in this many blocks.
WRITTEN = 0.002
_LANGUAGES = {
    "danish": "og af hvad blev også", "dutch": "het een niet voor zijn", "finnish": "ja että mutta niin kun",
    "french": "les des une dans avec", "german": "und nicht eine auch wird", "hungarian": "hogy nem egy van volt",
    "italian": "che della sono anche gli", "norwegian": "og av ikke noe også", "portuguese": "não uma com mais são",
    "romanian": "și este sunt pentru din", "spanish": "los las una por como", "swedish": "och att inte också från",
    "turkish": "bir için ile olarak gibi",
}  # fmt: skip


class Vocabulary:
    """The words of one state of the index."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self.blocks = int(searcher.num_docs)
        # How many blocks have a token in a field.
        self.count = lru_cache(MOST_REMEMBERED)(keyword_errors()(searcher.doc_freq))
        self._forms: dict[str, dict[str, float]] = {}

    @keyword_errors()
    def starting(self, field: str, start: str, limit: int | None = None) -> dict[str, int]:
        """The words of a field with this prefix, and their frequencies."""
        return dict(self._searcher.terms_with_prefix(field, start, limit=limit))

    @cached_property
    def _languages(self) -> list[str]:
        return [
            name
            for name, joining in _LANGUAGES.items()
            if sum(self.count("body", token) > WRITTEN * self.blocks for token in tokenize(joining))
            >= 3
        ]

    @cached_property
    def _stops(self) -> list[tantivy.TextAnalyzer]:
        return list(filter(None, map(without_stop_words, self._languages)))

    def content_words(self, text: str) -> set[str]:
        """The words of a text, as indexed, without stop words of the notes' languages."""
        every = words(text).lower().split() if self._stops else [text]
        return rank.content_words(
            token for word in every if not self._joins(word) for token in tokenize(word)
        )

    def _joins(self, word: str) -> bool:
        return any(not stops.analyze(word) for stops in self._stops)

    def inflected(self, text: str) -> dict[str, float]:
        """The other forms of a text's words, as indexed, each with its share of the word's points, as if both were
        one."""
        if not self._languages:
            return {}
        forms = self._forms.get(text)
        if forms is None:
            if len(self._forms) >= MOST_REMEMBERED:
                self._forms.clear()
            forms = self._forms[text] = {}
            for word in words(text).lower().split():
                forms |= self._inflected(word, *tokenize(word)[:1])
        return forms

    def _inflected(self, word: str, token: str = "") -> dict[str, float]:
        exact_count = self.count("body", token)
        if (
            len(token) < MIN_INFLECTED
            or not token.isalpha()
            or token in rank.STOP_WORDS
            or self._joins(word)
        ):
            return {}
        forms: dict[str, int] = {}
        others = rank.STOP_WORDS | {token}  # beside English, "Hasen" is not a form of "has"
        for name in self._languages:
            # Indexed words have no accents, and no English ending, most often an e.
            stems = {*stemmer(name).analyze(f"{token} {folded(word)}")}
            stems.add(folded(*stemmer(name).analyze(word)))
            shortest = min(stems, key=len)
            start = shortest[: max(MIN_INFLECTED - 1, len(shortest) - 1)]
            for field in ("title", "body"):
                like = [form for form in self.starting(field, start) if form not in others]
                ends = [*like, *(f"{form}e" for form in like)]
                made = zip(2 * like, stemmer(name).analyze(" ".join(ends)), strict=True)
                forms |= {form: self.count("body", form) for form, stem in made if stem in stems}
        best = sorted(forms, key=lambda one: (-forms[one], one))[:MOST_FORMS]
        every = rank.rarity(exact_count + sum(forms.values()), self.blocks)
        return {
            form: rank.FORM_WEIGHT * every / rank.rarity(forms[form], self.blocks) for form in best
        }

    def corrected(self, token: str) -> list[str]:
        """Indexed words one letter away from an unknown one (two letters for long words)."""
        if len(token) < MIN_CORRECTED or token in rank.STOP_WORDS or not token.isalpha():
            return []
        from vaultmem.text.similarity import edits  # most words are known

        distance = 2 if len(token) > 6 else 1
        nearest: list[str] = []
        for word in self._near_spellings(token, distance):
            count = edits(word, token, distance)
            if count is not None and count < distance:
                distance, nearest = count, []
            nearest += [word] if count == distance else []
        # The first letter is seldom wrong: "passport" is not a misspelled "assorted".
        return ([word for word in nearest if word[0] == token[0]] or nearest)[:5]

    def _near_spellings(self, token: str, distance: int) -> list[str]:
        """Indexed words that begin alike and have nearly the same letters, frequent ones first."""
        letters = set(token)
        low, high = len(token) - distance, len(token) + distance
        counts: dict[str, int] = {}
        for field, start in product(("title", "body"), {*token[:2]}):  # these may be swapped
            for word, count in self.starting(field, start).items():
                if low <= len(word) <= high and len(letters.difference(word)) <= distance:
                    counts[word] = counts.get(word, 0) + count
        near = (word for word in counts if len({*word} - letters) <= distance)
        return sorted(near, key=lambda word: (-counts[word], word))
