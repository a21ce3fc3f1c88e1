"""Detects whether a text is in English, the language of the default embedding model, by its letters and common words;
and finds the part of a long message that its writer typed."""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.text.values import lazy

OTHER_LETTERS = 0.3  # share of letters above which a text counts as not Latin
ENGLISH_WORDS = 0.04  # least share of the commonest words; English prose has 0.15 to 0.35
FEWEST = 60  # words needed to recognize a language
_LATIN = lazy("[A-Za-z\u00aa\u00b5\u00ba\u00c0-\u024f\u1e00-\u1eff]")
OTHER_SCRIPT = lazy(r"[^\W\d_A-Za-z\u00aa\u00b5\u00ba\u00c0-\u024f\u1e00-\u1eff]")
_WORD = lazy("[A-Za-z\u00c0-\u024f]+")
_CODE = lazy(r"(?s)```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\[\[[^]\n]*\]\]|^---\n.*?\n---$")
# None of them is common in another language.
_FREQUENT = frozenset(
    "the and of to are were it for with that this be from not you they but can have has or we if which".split()
)


ENGLISH, SCRIPT, OTHER = "English", "another script", "another language"
# Shares of notes above which another model is recommended; a list of names may pass for another language.
ENOUGH = {SCRIPT: 0.1, OTHER: 0.4}


def is_other(text: str) -> bool:
    """Whether a text is in a script other than Latin. A Chinese character says as much as several letters, so fewer
    than half suffice."""
    if text.isascii() or not OTHER_SCRIPT.search(text):
        return False
    others = len(OTHER_SCRIPT.findall(text))
    return others > OTHER_LETTERS * (others + len(_LATIN.findall(text)))


def language(text: str) -> str | None:
    """ENGLISH, SCRIPT or OTHER; None if the text is too short to tell."""
    prose = _CODE.sub(" ", text)
    others = len(OTHER_SCRIPT.findall(prose))
    if others >= FEWEST and is_other(prose):
        return SCRIPT
    words = [word.lower() for word in _WORD.findall(prose)]
    if len(words) < FEWEST:
        return None
    is_english = sum(word in _FREQUENT for word in words) >= ENGLISH_WORDS * len(words)
    return ENGLISH if is_english else OTHER


def unknown_share(texts: Iterable[str]) -> tuple[int, int, str] | None:
    """How many texts the default model does not understand, how many have a known language, and what most of the
    former are (SCRIPT or OTHER). None if they are too few to matter."""
    languages = [name for name in map(language, texts) if name is not None]
    most = max(ENOUGH, key=lambda kind: languages.count(kind) / ENOUGH[kind])
    if not languages or languages.count(most) < ENOUGH[most] * len(languages):
        return None
    return len(languages) - languages.count(ENGLISH), len(languages), most


# The part of a message that its writer typed.

_TYPED = 4000  # characters that a person types; longer messages hold pasted text
_ROUND = 1500  # characters around the pasted part that may be typed
_STOPS = "\n.!?。！？"


def typed_part(message: str) -> str:
    """The part of a long message that its writer may have typed: its first and last paragraphs, if short. The text
    between them was pasted."""
    if len(message) <= _TYPED:
        return message
    message = message.replace("\r\n", "\n")
    begin = message[:_ROUND].lstrip().partition("\n\n")[0]
    whole = len(begin) if len(begin) < _ROUND - 1 else max(begin.rfind(mark) for mark in _STOPS) + 1
    end = message[-_ROUND:].rstrip()
    paragraph = end.rfind("\n\n") if "\n\n" in end else end.find("\n")
    return f"{begin[:whole]}\n\n{end[paragraph:].strip() if paragraph >= 0 else ''}"
