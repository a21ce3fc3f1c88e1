"""Whether a text is in the language that the default embedding model was trained on, which is English: by its letters,
and by words that any English text has. And which part of a long message its writer typed."""

from __future__ import annotations

from collections.abc import Iterable

from vaultmem.text.values import lazy

OTHER_LETTERS = 0.3  # share from which a text is not in Latin letters
ENGLISH_WORDS = 0.04  # least share of the commonest words; English prose has 0.15 to 0.35
FEWEST = 60  # words by which a language can be recognized
_LATIN = lazy("[A-Za-z\u00aa\u00b5\u00ba\u00c0-\u024f\u1e00-\u1eff]")
OTHER_SCRIPT = lazy(r"[^\W\d_A-Za-z\u00aa\u00b5\u00ba\u00c0-\u024f\u1e00-\u1eff]")
_WORD = lazy("[A-Za-z\u00c0-\u024f]+")
_CODE = lazy(r"(?s)```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\[\[[^]\n]*\]\]|^---\n.*?\n---$")
# None of them is a common word of another language.
_FREQUENT = frozenset(
    "the and of to are were it for with that this be from not you they but can have has or we if which".split()
)


ENGLISH, SCRIPT, OTHER = "English", "another script", "another language"
# Shares of the notes from which another model is worth advising; a list of names may pass for another language.
ENOUGH = {SCRIPT: 0.1, OTHER: 0.4}


def is_other(text: str) -> bool:
    """Whether a text is in another script than Latin, whichever it is. A character of Chinese says as much as several
    letters, so fewer than half are enough."""
    if text.isascii() or not OTHER_SCRIPT.search(text):
        return False
    others = len(OTHER_SCRIPT.findall(text))
    return others > OTHER_LETTERS * (others + len(_LATIN.findall(text)))


def language(text: str) -> str | None:
    """ENGLISH, SCRIPT or OTHER; None where there is too little of a text to tell."""
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
    """How many of how many texts the default model does not understand, where these are enough to matter; and what most
    of them are, SCRIPT or OTHER."""
    known = [one for one in map(language, texts) if one is not None]
    most = max(ENOUGH, key=lambda kind: known.count(kind) / ENOUGH[kind])
    if not known or known.count(most) < ENOUGH[most] * len(known):
        return None
    return len(known) - known.count(ENGLISH), len(known), most


# Of a message: what its writer typed.

_TYPED = 4000  # characters that somebody types; a longer message holds something pasted
_ROUND = 1500  # characters around what is pasted that may be typed
_STOPS = "\n.!?。！？"


def typed_part(message: str) -> str:
    """What of a long message may be typed: its first paragraph and its last, as far as they are short. Between them
    lies what was pasted."""
    if len(message) <= _TYPED:
        return message
    message = message.replace("\r\n", "\n")
    begin = message[:_ROUND].lstrip().partition("\n\n")[0]
    whole = len(begin) if len(begin) < _ROUND - 1 else max(begin.rfind(mark) for mark in _STOPS) + 1
    end = message[-_ROUND:].rstrip()
    paragraph = end.rfind("\n\n") if "\n\n" in end else end.find("\n")
    return f"{begin[:whole]}\n\n{end[paragraph:].strip() if paragraph >= 0 else ''}"
