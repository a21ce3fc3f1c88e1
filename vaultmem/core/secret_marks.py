"""The marks that stand in a text where a secret was, and the words that a title can be taken from beside them."""

from __future__ import annotations

import re

_MARK = re.compile(r"\[redacted: ([^\[\]\n]{1,40})\]")


def mark(kind: str) -> str:
    """What stands in place of a secret."""
    return f"[redacted: {kind}]"


def marked(match: re.Match[str], kind: str) -> str:
    """A match with a mark in place of its group "value"."""
    begin, end = match.start("value") - match.start(), match.end("value") - match.start()
    return f"{match[0][:begin]}{mark(kind)}{match[0][end:]}"


def named_by(text: str) -> str:
    """What of a text a title can be taken from: the lines without marks, else what stands around the marks, else what
    was there. A text without marks stays as it is."""
    found = _MARK.search(text)
    if found is None:
        return text
    lines = text.split("\n")
    clean = [line for line in lines if not _MARK.search(line)]
    if any(map(_says_something, clean)):
        return "\n".join(clean)
    around = [_MARK.sub("", line) for line in lines]
    if any(map(_says_something, around)):
        return "\n".join(line.rstrip(" \t:=：＝\"'`") for line in around)
    return f"Redacted {found[1]}"


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
