"""Makes text of notes safe for an assistant: one short line in which nothing is markup, structure or a command.

Special characters are replaced by harmless look-alikes, so that a person can still read the line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from vaultmem.text.values import TURNING, lazy, without_editor_lines

# Characters as people see them (graphemes): a letter with its accents, a family of emoji, a flag.

JOINER = "\u200d"
_ZERO_WIDTH = f"\u200c{JOINER}"
_VIRAMA = 9  # the combining class of the sign by which consonants are joined
_FLAGS = range(0x1F1E6, 0x1F200)
_SKINS = range(0x1F3FB, 0x1F400)
# Vowels and finals, which are part of the preceding syllable.
_LATE_JAMO = range(0x1160, 0x1200)
_WIDE = ("W", "F")
# Control characters, directional marks, halves of characters.
_UNSHOWN = ("Cc", "Cf", "Cs", "Co", "Cn")


def graphemes(text: str) -> Iterator[str]:
    """The graphemes of a text: close enough to Unicode's UAX 29 to cut a title."""
    if text.isascii():
        yield from text
        return
    start = 0
    flags = 0  # of those at the end of the piece
    for at in range(1, len(text)):
        flags = flags + 1 if ord(text[at - 1]) in _FLAGS else 0
        if not _belongs(text, at, flags):
            yield text[start:at]
            start = at
    yield text[start:]


def _belongs(text: str, at: int, flags: int) -> bool:
    """Whether the character at `at` belongs to the grapheme before it."""
    here, before = text[at], text[at - 1]
    if here.isascii():
        return False
    code = ord(here)
    if here == JOINER or code in _SKINS or unicodedata.category(here)[0] == "M":
        return True
    if before == JOINER:
        return unicodedata.category(here) in {"So", "Sm"}
    return (code in _FLAGS and flags % 2 == 1) or code in _LATE_JAMO


def columns(piece: str) -> int:
    """The width of a grapheme in columns: 2 for Chinese, Japanese, Korean and emoji, else 1."""
    return 2 if unicodedata.east_asian_width(piece[0]) in _WIDE else 1


MOST = 160  # characters
NO_WORDS = "(no words)"
_LOOKED_AT = 25  # times as many are read, as invisible characters may precede the words
_ROUNDS = 20  # the result of one step may need another
_MOST_MARKS = 4  # accents per letter
_ANSI = lazy(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
)
_UNSEEN = lazy(  # invisible letters, and selectors that could carry words
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\ufff0-\uffff\U000e0000-\U000e0fff]"
)
_LOOKALIKES = str.maketrans({"<": "‹", ">": "›", "@": "＠", "#": "＃", "^": "ˆ", "`": "'"})
_RUNS = "javascript|vbscript|livescript|data|file|blob|obsidian|logseq|vscode|cursor|shortcuts|ms-[a-z-]+|x-[a-z-]+"
_BEGINS = "(?<![a-z0-9])"  # of a word, even one that follows Chinese
_DATED = "📅📆🗓⏳⌛🛫➕✅❌⏰"
# A pattern, a character that every line it matches contains, and the replacement.
_CHANGES: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (lazy(pattern, re.IGNORECASE), sign, new)
    for pattern, sign, new in (
        (rf"{_BEGINS}({_RUNS}):", ":", r"\1꞉"),
        (rf"{_BEGINS}(?!https?:)([a-z][a-z0-9+.-]*):(?=//)", "://", r"\1꞉"),
        (rf"{_BEGINS}(system|assistant|human|user|developer|tool)( ?):", ":", r"\1\2꞉"),
        (r"::", "::", "∷"),  # a property; dataview's fields
        (r"\[\[", "[[", "⟦"),
        (r"\]\]", "]]", "⟧"),
        (r"\](?=[(\[:])", "]", "] "),  # a link, or its target
        (r"!(?=[\[⟦])", "!", "! "),
        (r"\[(/?(?:inst|sys|system))\]", "[", r"(\1)"),
        (r"\((?=\()", "((", "( "),  # a Logseq block
        (r"\{(?=[{%])", "{", "{ "),
        (r"\}(?=\})", "}}", "} "),
        (r"%(?=%)", "%%", "% "),  # would hide the rest of the page
        (r"\$(?=\$)", "$$", "$ "),
        (r"~(?=~)", "~~", "~ "),
        (r"-{3,}", "---", "—"),
    )
)
# Fields of a task: a date in quoted words must not be taken for ours.
_OF_TASKS = lazy(rf"(?:[{_DATED}]\ufe0f? ?)+(?=\d)|[🔁🏁🆔⛔]\ufe0f? ?(?=\w)|[🔺⏫🔼🔽⏬]\ufe0f?")
_START = lazy(
    r"(?:[\s›|~—⟧]+|(?:＃+|[-*+])(?= |$)|[-*_=]{3,}|\\?\[.?\](?= |$)|\d{1,9}[.)](?= *\\?\[.?\](?: |$))"
    r"|(?:TODO|DOING|DONE|NOW|LATER|WAITING|WAIT|CANCELL?ED|IN-PROGRESS|STARTED)(?= |$))+"
)
_BROKEN_OFF = " ,;:–—-"  # a cut does not end with these
_NO_WORDS = lazy(r"[^\w ]+|_+")


def one_line(text: str, most: int = MOST) -> str:
    """The text on one line of at most `most` characters; one_line(one_line(x)) is one_line(x)."""
    line = text[: most * _LOOKED_AT]
    for _ in range(_ROUNDS):
        before, line = line, _cut(_step(line), most)
        if line == before:
            return line
    bare = " ".join(_NO_WORDS.sub(" ", line).split())
    return _cut(_step(bare), most)


def one_line_or_placeholder(text: str, most: int = MOST) -> str:
    """The text on one line, or a placeholder if nothing is left."""
    return one_line(text, most) or NO_WORDS


def _step(line: str) -> str:
    line = " ".join(without_invisible(_ANSI.sub("", line)).translate(_LOOKALIKES).split())
    for pattern, sign, new in _CHANGES:
        if sign in line:
            line = pattern.sub(new, line)
    if not line.isascii():
        line = _OF_TASKS.sub("", line)
    start = _START.match(line)
    return (line[start.end() :] if start else line).strip()


def without_invisible(line: str) -> str:
    """The line without control characters, direction marks and zero-width characters; joiners between emoji stay."""
    if line.isascii() and line.isprintable():
        return line
    line = _UNSEEN.sub("", unicodedata.normalize("NFC", line))
    letters: list[str] = []
    marks = 0
    for at, letter in enumerate(line):
        category, marks_before = unicodedata.category(letter), marks
        marks = marks + 1 if category[0] == "M" else 0
        if letter.isspace() or category in ("Zl", "Zp"):
            letters.append(" ")
        elif letter in _ZERO_WIDTH:
            marks = marks_before
            letters += (
                [letter] if letters and _joins(letters[-1], letter, line[at + 1 : at + 2]) else []
            )
        elif marks > _MOST_MARKS or (marks and (not letters or letters[-1] == " ")):
            continue  # a stack of accents reaches into other lines; one on a blank hides it
        elif category not in _UNSHOWN:
            letters.append(letter)
    return "".join(letters)


# Except the flags of England, Scotland and Wales, which are made of tags.
_CARRIERS = lazy(
    "(?P<flag>\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f)"
    f"|[\ufe00-\ufe0d\U000e0000-\U000e0fff\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{''.join(map(chr, TURNING))}]+"
)


def without_carriers(text: str) -> str:
    """The text without invisible characters that can carry whole words to a model (tags, variation selectors) or that
    control a terminal or reorder a line."""
    is_plain = text.isascii() and text.replace("\n", "").isprintable()
    return text if is_plain else _CARRIERS.sub(lambda match: match["flag"] or "", text)


def _joins(before: str, letter: str, after: str) -> bool:
    """Whether a zero-width character belongs to how its neighbours are written: between letters of Arabic script, next
    to a virama of India (as in UAX 31), and a joiner between emoji."""
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if not after:
        return False
    if unicodedata.bidirectional(after) == "AL":
        return unicodedata.bidirectional(before) in ("AL", "NSM")
    if unicodedata.combining(after) == _VIRAMA:
        return unicodedata.category(before) == "Lo"
    is_emoji = unicodedata.category(before) in ("So", "Sk") or before == "\ufe0f"
    return letter == JOINER and is_emoji and unicodedata.category(after) in ("So", "Sm")


def _cut(line: str, most: int) -> str:
    """As much of the line as fits, in whole words unless they are very long, with an ellipsis where it was cut."""
    if len(line) <= most:
        return line
    pieces: list[str] = []
    room = most - 1
    for piece in graphemes(line):
        room -= len(piece)
        if room < 0:
            break
        pieces.append(piece)
    cut = "".join(pieces)
    blank = cut.rfind(" ", most // 2) if line[len(cut)] != " " else -1
    return (cut if blank < 0 else cut[:blank]).rstrip(_BROKEN_OFF) + "…"


# A note's words in our messages: short, on one line, without anything that controls a terminal or editor.

LONGEST = 120  # characters


def quote_text(text: str, longest: int = LONGEST) -> str:
    """The text made safe to quote in a message: one line of at most `longest` characters."""
    seen = without_editor_lines(text[: 8 * longest])
    return _cut(" ".join(without_invisible(seen).split()), longest)


# Code in a text by someone else, which an editor must show and not run.

BEFORE = r"^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"  # prefixes of lines in lists and quotations
# What may precede a fence or indented code: also a box, or a footnote's or callout's name.
_AT = r"(?:^|(?<=\r))(?>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]|\[[^\[\]\r\n]{0,60}\]:?)*)"
_FENCE = r"(?:`{3,}+|~{3,}+)"
# Dataview runs any code that begins with its own sign: inline code, a whole block, HTML.
_SIGN = r"(?=\$=|=(?![=>`]))"
_BLANK = r"[\s\ufeff>]*"
_INDENTED = r"(?:(?<=[ ]{4})|(?<=\t)|(?<=\t[ ])|(?<=\t[ ]{2})|(?<=\t[ ]{3}))"
_SPACE = r"(?>(?:[^\S\r\n]|\ufeff)*)"
_WORDS = r"[^`~<\\$\[%\r\n]|~(?!~)|%(?!%)|<(?= )"
# A price begins no formula, unless a dollar sign follows that could end it, such as one in code.
_PRICE = r"(?<![^\s(])\$(?=\d)"


def _paragraph(words: str, code: str) -> str:
    """A pattern for a paragraph in whose every line backticks are pairs, and nothing could pair them otherwise: a
    backtick that ends code begins none, and what follows it is text. Code in a cell of a table ends in that cell."""
    text = rf"(?>(?:{words})*)"
    line = rf"(?!\n|\Z|{_AT}{_SPACE}(?:=|\$=)){text}(?>(?:`(?!{_BLANK}{_SIGN})[^`|{code}\r\n]++`{text})*)"
    return rf"{line}(?>(?:\n{line})*)(?=\n\n|\n?\Z)"


_QUERY = lazy(
    rf"(?P<pairs>(?:\A|(?<=\n\n))(?:{_paragraph(_WORDS, '')}|{_paragraph(f'{_WORDS}|{_PRICE}', '$')}))"
    rf"|{_AT}(?:{_FENCE}[^\r\n]*[\r\n]{_BLANK}|{_INDENTED}{_SPACE}){_SIGN}|`{_BLANK}{_SIGN}",
    re.MULTILINE,
)
# Fenced blocks in any language but these. The list need not be complete: blocks in other languages only lose their
# colours.
_BLOCK = lazy(
    rf"{_AT}{_FENCE}[ \t]*+(?![ \t`~\r\n]"
    r"|(?:te?xt|plain|python|py|[jt]sx?|javascript|typescript|jsonc?|ya?ml|toml|ini|xml|html|s?css|sql|diff|markdown|md"
    r"|bash|zsh|fish|sh|shell|console|powershell|make|dockerfile|c|h|cpp|c\+\+|c#|cs|csharp|java|kotlin|swift|go|rust|rs"
    r"|ruby|rb|php|perl|lua|r|julia|haskell|scala|clojure|elixir|lisp|latex|tex|math|mermaid)(?:[\s{,]|\Z))(?=.)",
    re.MULTILINE | re.IGNORECASE,
)
# Templater's commands and Logseq's macros, which also run in inline code (no macro name begins with a space),
# and HTML's code. Nothing that surrounds it ends a block of code at the margin before its own last line.
_SPACED = lazy(
    rf"(?P<code>^(?P<mark>{_FENCE})[^`\n]*\n.*?^ {{0,3}}(?P=mark))"
    r"|(?:<(?=code[\s/>])|\{(?=\{(?! ))|\#\+(?=BEGIN_QUERY))",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_BACKTICK = str.maketrans("\u1fef", "`")  # as NFC has it


def not_run(text: str) -> str:
    """The text with code that an editor would run made plain."""
    text = text.translate(_BACKTICK).replace("<%", "< %")
    text = _SPACED.sub(lambda match: match["code"] or f"{match[0]} ", text)
    text = _QUERY.sub(lambda match: match["pairs"] or f"{match[0]}text ", text)
    return _BLOCK.sub(lambda match: f"{match[0]}text ", text)
