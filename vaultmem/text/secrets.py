"""Secrets in a text, which no memory should hold: keys, tokens, private keys, passwords behind their names.

`redact()` is for all that writes down words of a person or a machine.
What is found is replaced by a mark that says what was there. A false alarm costs a piece of somebody's note, so that a
value counts only where it has the form of a key, looks random behind the name of one, or stands behind the word
"password" and is no word itself. All of it is linear in the text: every repetition in a pattern has a limit.
"""

from __future__ import annotations

from collections import Counter

from vaultmem.light import NamedTuple
from vaultmem.text.secret_values import (
    forms,
    is_placeholder,
    mark,
    redact_assigned,
    redact_in_places,
)
from vaultmem.text.values import lazy


def redact_known_forms(text: str, kinds: list[str]) -> str:
    """The text with a mark in place of each key that has a form of its own. An example out of a manual is marked as
    well: nobody needs it, and who says that a key with EXAMPLE in it opens nothing?"""
    for form in forms("forms"):
        if form.sign in text:
            text, count = form.pattern.subn(mark(form.kind), text)
            kinds += [form.kind] * count
    return text


# Private keys in a text, as files and mails hold them: a line that begins them, letters, a line that ends them.

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
_FEWEST = 4  # letters that are a key and no dash or dots


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
    """Where the key ends whose first line ends at `begin`; None when no key is behind it, as where a manual tells how
    one begins."""
    closing = _END.search(text, begin, most)
    if closing and _is_key(text[begin : closing.start()]):
        return closing.end()
    cut_off = _CUT_OFF.match(text, begin, most)
    return cut_off.end() if cut_off else None


def _is_key(body: str) -> bool:
    """Whether what stands between the two lines is a key, however short and however it is broken, and not words or the
    dots of an example."""
    runs = [run for run in _BETWEEN.split(_HEADER.sub("", body)) if run]
    solid = [run for run in runs if _LETTERS.match(run) and not _is_word(run)]
    if len(runs) == 1 and not solid and "\n" in body and _LETTERS.match(runs[0]):
        solid = runs  # alone on its line: nobody writes a word there
    size = sum(map(len, solid))
    if size < _FEWEST or is_placeholder("".join(runs)[:200]):
        return False
    return 5 * size >= 4 * sum(map(len, runs))


def _is_word(run: str) -> bool:
    return len(run) <= 20 and run.isalpha() and (run.islower() or run.istitle())


# The marks that stand in a text where a secret was, and the words that a title can be taken from beside them.

_MARK = lazy(r"\[redacted: ([^\[\]\n]{1,40})\]")


def named_by(text: str) -> str:
    """What of a text a title can be taken from: the lines without marks, else what stands around the marks, else what
    was there. A text without marks stays as it is."""
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
    """A title that was given, without its marks; "" where nothing else is in it."""
    if not _MARK.search(title):
        return title
    rest = _MARK.sub(" ", title)
    return " ".join(rest.split()).strip(" :=-_,;") if _says_something(rest) else ""


def _says_something(line: str) -> bool:
    """Whether a word is in it; a heading of a name such as "key:" is one."""
    return sum(map(str.isalpha, line)) >= 2 or any(
        "\u3400" <= letter <= "\u9fff" for letter in line
    )


# What nobody sees between two letters of a key, as a web page leaves it there: who shows the text leaves it out.
_UNSEEN = lazy(
    r"(?<=[\n -~])[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+(?=[\n -~])"
)
_STEPS = (private_keys, redact_known_forms, redact_in_places, redact_assigned)


class Redacted(NamedTuple):
    """A text without its secrets, and the kinds of what was taken out, in no order."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """The text with a mark such as "[redacted: GitHub token]" in place of each secret, and the kinds of what was there.

    Pure, in time linear to the text; redacting again changes nothing. The text as a whole has to be given: what lies
    between two lines that enclose it is not seen in a piece of it."""
    result = _redact(text)
    bare = result.text if text.isascii() else _UNSEEN.sub("", result.text)
    if bare != result.text and (hidden := _redact(bare)).kinds:
        return Redacted(hidden.text, result.kinds + hidden.kinds)
    return result


def _redact(text: str) -> Redacted:
    result: list[str] = []
    for step in _STEPS:
        text = step(text, result)
    return Redacted(text, tuple(result))


def behind(name: str, text: str) -> Redacted:
    """What redact() does with one line that is the value of a property: its name may say that it is a secret."""
    result = redact(f"{name}: {text}")
    return (
        result._replace(text=result.text.partition(": ")[2]) if result.kinds else Redacted(text, ())
    )


def in_either(title: Redacted, path: Redacted) -> list[str]:
    """The kinds in a title and in a path. The title is as often as not the name of the file: a secret in both is
    one."""
    return [*(Counter(title.kinds) | Counter(path.kinds)).elements()]
