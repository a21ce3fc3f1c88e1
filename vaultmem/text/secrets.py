"""Secrets in a text, which no memory should contain: keys, tokens, private keys, passwords after their names.

Everything that stores words of a person or a program calls `redact()`, which replaces each secret by a mark that
names its kind. A false positive costs a piece of a note, so a value counts only if it has the form of a key, looks
random after the name of one, or follows the word "password" and is not a word itself. Everything is linear in the
text: every repetition in a pattern has a limit.
"""

from __future__ import annotations

from collections import Counter

from vaultmem.light import NamedTuple
from vaultmem.text.sanitize import not_run
from vaultmem.text.secret_values import (
    forms,
    is_placeholder,
    mark,
    redact_assigned,
    redact_in_places,
)
from vaultmem.text.values import lazy


def redact_known_forms(text: str, kinds: list[str]) -> str:
    """The text with a mark in place of each key with a known form. Examples from manuals are replaced as well: nobody
    needs them, and a key containing EXAMPLE may be real."""
    for form in forms("forms"):
        if form.sign in text:
            text, count = form.pattern.subn(mark(form.kind), text)
            kinds += [form.kind] * count
    return text


# Private keys in a text, as in files and mails: an opening line, letters, a closing line.

_KIND = "private key"
_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?"
_BEGIN = lazy(rf"-{{4,5}} ?BEGIN {_NAME}-{{4,5}}")
_END = lazy(rf"-{{4,5}} ?END {_NAME}-{{4,5}}")
_HEADER = lazy(r"(?:^|\n|\\n)[ \t>]{0,16}[A-Z][A-Za-z-]{2,30}:[^\n\\]{0,200}")
_BETWEEN = lazy(r"(?:\\r|\\n|[\s>\"'`,;|\\])+")
_LETTERS = lazy(r"[A-Za-z0-9+/=]+$")
_CUT_OFF = lazy(r"(?:\s{0,4}(?:\\n)?[ \t>]{0,8}[A-Za-z0-9+/=]{24,200}(?:\\n)?){1,1000}")
_PUTTY = lazy(
    r"(?<=\nPrivate-Lines: )\d{1,3}(?:\n[ \t>]{0,16}[A-Za-z0-9+/=]{1,80}(?=\n|\Z)){1,200}"
)
_FEWEST = 4  # letters that make a key and not a dash or dots


def private_keys(text: str, kinds: list[str]) -> str:
    """The text with a mark in place of each private key."""
    if "PRIVATE KEY" not in text and "Private-Lines: " not in text:
        return text
    begins = list(_BEGIN.finditer(text))
    parts: list[str] = []
    at = 0
    for number, begin in enumerate(begins):
        if begin.start() < at:
            continue
        following = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        end = _key_end(text, begin.end(), following)
        if end is not None:
            parts += [text[at : begin.start()], mark(_KIND)]
            kinds.append(_KIND)
            at = end
    text, count = _PUTTY.subn(mark(_KIND), "".join([*parts, text[at:]]))
    kinds += [_KIND] * count
    return text


def _key_end(text: str, begin: int, most: int) -> int | None:
    """The offset of the end of the key whose first line ends at `begin`; None if no key follows, as where a manual
    shows how one begins."""
    closing = _END.search(text, begin, most)
    if closing and _is_key(text[begin : closing.start()]):
        return closing.end()
    cut_off = _CUT_OFF.match(text, begin, most)
    return cut_off.end() if cut_off else None


def _is_key(body: str) -> bool:
    """Whether the text between the two lines is a key, however short or wrapped, and not words or an example's dots."""
    runs = [run for run in _BETWEEN.split(_HEADER.sub("", body)) if run]
    solid = [run for run in runs if _LETTERS.match(run) and not _is_word(run)]
    if len(runs) == 1 and not solid and "\n" in body and _LETTERS.match(runs[0]):
        solid = runs  # alone on its line: not a word
    size = sum(map(len, solid))
    if size < _FEWEST or is_placeholder("".join(runs)[:200]):
        return False
    return 5 * size >= 4 * sum(map(len, runs))


def _is_word(run: str) -> bool:
    return len(run) <= 20 and run.isalpha() and (run.islower() or run.istitle())


# The marks of removed secrets, and the words beside them that can make a title.

_MARK = lazy(r"\[redacted: ([^\[\]\n]{1,40})\]")


def text_for_title(text: str) -> str:
    """The part of a text that can make a title: lines without marks, else the words around the marks, else the marks
    themselves. A text without marks is unchanged."""
    match = _MARK.search(text)
    if match is None:
        return text
    lines = text.split("\n")
    clean = [line for line in lines if not _MARK.search(line)]
    if any(map(_says_something, clean)):
        return "\n".join(clean)
    around = [_MARK.sub("", line) for line in lines]
    if any(map(_says_something, around)):
        return "\n".join(line.rstrip(" \t:=：＝\"'`") for line in around)
    return f"Redacted {match[1]}"


def title_without_marks(title: str) -> str:
    """A title without its marks; "" if nothing else is in it."""
    if not _MARK.search(title):
        return title
    rest = _MARK.sub(" ", title)
    return " ".join(rest.split()).strip(" :=-_,;") if _says_something(rest) else ""


def _says_something(line: str) -> bool:
    """Whether it has a word; a label such as "key:" counts as one."""
    return sum(map(str.isalpha, line)) >= 2 or any(
        "\u3400" <= letter <= "\u9fff" for letter in line
    )


# Invisible characters between two letters of a key, as copied from web pages.
_UNSEEN = lazy(
    r"(?<=[\n -~])[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+(?=[\n -~])"
)
_STEPS = (private_keys, redact_known_forms, redact_in_places, redact_assigned)


class Redacted(NamedTuple):
    """A text without its secrets, and the kinds of the removed secrets, in no particular order."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """The text with a mark such as "[redacted: GitHub token]" in place of each secret, and the kinds of the secrets.

    Pure, in time linear to the text; redacting again changes nothing. Pass the whole text: a key between two
    enclosing lines is not recognized in a piece of it."""
    result = _redact(text)
    bare = result.text if text.isascii() else _UNSEEN.sub("", result.text)
    if bare != result.text and (hidden := _redact(bare)).kinds:
        return Redacted(hidden.text, result.kinds + hidden.kinds)
    return result


def redact_foreign(text: str) -> Redacted:
    """Like redact(), for text not written by the person: code that an editor would run is also made plain."""
    return redact(not_run(text))


def _redact(text: str) -> Redacted:
    result: list[str] = []
    for step in _STEPS:
        text = step(text, result)
    return Redacted(text, tuple(result))


def redact_property(name: str, text: str) -> Redacted:
    """Like redact(), for the one-line value of the property `name`, which may mark it as secret."""
    result = redact(f"{name}: {text}")
    return (
        result._replace(text=result.text.partition(": ")[2]) if result.kinds else Redacted(text, ())
    )


def kinds_in_either(title: Redacted, path: Redacted) -> list[str]:
    """The kinds of secrets in a title and a path, without duplicates: the title is often the file name."""
    return [*(Counter(title.kinds) | Counter(path.kinds)).elements()]
