"""Text of notes as an assistant may be shown it: one short line in which nothing is markup, structure or a command.

Marks are replaced by signs that look like them and mean nothing, so that a person can still read the line.
"""

from __future__ import annotations

import re
import unicodedata

from vaultmem.core.graphemes import JOINER, graphemes

MOST = 160  # characters
NO_WORDS = "(no words)"
_LOOKED_AT = 25  # times as many: what nobody sees may stand in front of the words
_ROUNDS = 20  # what one step leaves, another may have to look at again
_MOST_MARKS = 4  # accents on one letter
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
)
_UNSEEN = re.compile(  # letters that nobody sees, and selectors that could carry words
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\ufff0-\uffff\U000e0000-\U000e0fff]"
)
_LOOKALIKES = str.maketrans({"<": "‹", ">": "›", "@": "＠", "#": "＃", "^": "ˆ", "`": "'"})
_RUNS = "javascript|vbscript|livescript|data|file|blob|obsidian|logseq|vscode|cursor|shortcuts|ms-[a-z-]+|x-[a-z-]+"
_BEGINS = "(?<![a-z0-9])"  # of a word, also of one that Chinese stands before
_DATED = "📅📆🗓⏳⌛🛫➕✅❌⏰"
_CHANGES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, flags), new)
    for pattern, new, flags in (
        (rf"{_BEGINS}({_RUNS}):", r"\1꞉", re.IGNORECASE),
        (rf"{_BEGINS}(?!https?:)([a-z][a-z0-9+.-]*):(?=//)", r"\1꞉", re.IGNORECASE),
        (rf"{_BEGINS}(system|assistant|human|user|developer|tool)( ?):", r"\1\2꞉", re.IGNORECASE),
        (r"::", "∷", 0),  # a property; dataview's fields
        (r"\[\[", "⟦", 0),
        (r"\]\]", "⟧", 0),
        (r"\](?=[(\[:])", "] ", 0),  # a link, or where one leads
        (r"!(?=[\[⟦])", "! ", 0),
        (r"\[(/?(?:inst|sys|system))\]", r"(\1)", re.IGNORECASE),
        (r"\((?=\()", "( ", 0),  # a block of Logseq
        (r"\{(?=[{%])", "{ ", 0),
        (r"\}(?=\})", "} ", 0),
        (r"%(?=%)", "% ", 0),  # would hide the rest of the page
        (r"\$(?=\$)", "$ ", 0),
        (r"~(?=~)", "~ ", 0),
        (r"-{3,}", "—", 0),
        # What a task says of itself: a date in the quoted words must not be taken for ours.
        (rf"(?:[{_DATED}]\ufe0f? ?)+(?=\d)", "", 0),
        (r"[🔁🏁🆔⛔]\ufe0f? ?(?=\w)", "", 0),
        (r"[🔺⏫🔼🔽⏬]\ufe0f?", "", 0),
    )
)
_START = re.compile(
    r"(?:[\s＃›|~—⟧]+|[-*+](?= |$)|[-*_=]{3,}|\\?\[.?\](?= |$)|\d{1,9}[.)](?= *\\?\[.?\](?: |$))"
    r"|(?:TODO|DOING|DONE|NOW|LATER|WAITING|WAIT|CANCELL?ED|IN-PROGRESS|STARTED)(?= |$))+"
)
_BROKEN_OFF = " ,;:–—-"  # what no cut ends with
_NO_WORDS = re.compile(r"[^\w ]+|_+")


def one_line(text: str, most: int = MOST) -> str:
    """The text in one line of at most `most` characters; one_line(one_line(x)) is one_line(x)."""
    line = text[: most * _LOOKED_AT]
    for _ in range(_ROUNDS):
        before, line = line, _cut(_step(line), most)
        if line == before:
            return line
    bare = " ".join(_NO_WORDS.sub(" ", line).split())
    return _cut(_step(bare), most)


def words(text: str, most: int = MOST) -> str:
    """The text in one line, and a word for it where nothing is left."""
    return one_line(text, most) or NO_WORDS


def _step(line: str) -> str:
    line = " ".join(_seen(_ANSI.sub("", line)).translate(_LOOKALIKES).split())
    for pattern, new in _CHANGES:
        line = pattern.sub(new, line)
    start = _START.match(line)
    return (line[start.end() :] if start else line).strip()


def _seen(line: str) -> str:
    """The line without controls, marks of direction and what has no width; a joiner stays between emoji."""
    if line.isascii() and line.isprintable():
        return line
    line = _UNSEEN.sub("", unicodedata.normalize("NFC", line))
    kept: list[str] = []
    marks = 0
    for at, letter in enumerate(line):
        category = unicodedata.category(letter)
        marks = marks + 1 if category[0] == "M" else 0
        if letter.isspace() or category in ("Zl", "Zp"):
            kept.append(" ")
        elif letter == JOINER:
            kept += [letter] if kept and _joins(kept[-1], line[at + 1 : at + 2]) else []
        elif marks > _MOST_MARKS or (marks and (not kept or kept[-1] == " ")):
            continue  # a tower of accents reaches into other lines, one on a blank hides it
        elif category not in ("Cc", "Cf", "Cs", "Co", "Cn"):
            kept.append(letter)
    return "".join(kept)


def _joins(before: str, after: str) -> bool:
    emoji = unicodedata.category(before) in ("So", "Sk") or before == "\ufe0f"
    return emoji and bool(after) and unicodedata.category(after) in ("So", "Sm")


def _cut(line: str, most: int) -> str:
    """As much of the line as fits, in whole words if they are not very long, with a sign that there was more."""
    if len(line) <= most:
        return line
    kept: list[str] = []
    room = most - 1
    for piece in graphemes(line):
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    cut = "".join(kept)
    blank = cut.rfind(" ", most // 2) if line[len(cut)] != " " else -1
    return (cut if blank < 0 else cut[:blank]).rstrip(_BROKEN_OFF) + "…"
