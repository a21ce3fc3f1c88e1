"""A note as a person wrote it: where a link may be put, which notes it mentions without a link, and which note a
misspelt name refers to."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from vaultmem.dreams.short_texts import form, words
from vaultmem.light import NamedTuple
from vaultmem.plugins import language
from vaultmem.text.similarity import edits
from vaultmem.text.values import lazy

# Where in a note a link may be put.

_APART = r"""
    \A---[ \t\r]*\n(?:.*\n)*?---[ \t\r]*$                                         # front matter
    | ^[ \t]*:[A-Z][\w-]*:[ \t\r]*\n(?:.*\n){0,200}?[ \t]*:END:[ \t\r]*$          # a drawer of Org
    | ^[ \t]*(?:[-*+]\ )?\#\+BEGIN_.*\n(?:.*\n){0,200}?[ \t]*\#\+END_.*$          # a block of Org
    | ^[ \t]*(?:[-*+]\ )?\#\+.*$                                                  # a keyword of Org
    | ^[ \t]*(?:[-*+][ \t]+)?[^\s:`\[\](){}\#]+::.*$                              # a property
"""
_TAKEN = r"""
    | ^[ \t]*(?:[-*+]\ )?(?P<fence>`{3,}|~{3,}).*(?:\n(?![ \t]*(?P=fence)).*)*(?P<close>\n[ \t]*(?P=fence).*)?
    | ^[ \t]*(?:[-*+]\ )?\#{1,6}\s.*$                                             # a heading: others link to it
    | ^(?=[ \t]*\S).+\n\ {0,3}(?:=+|-+)[ \t\r]*$                                  # an underlined one
    | ^[ \t]*(?:[-*+]\ )?(?:>\ ?)+\[!.*$                                          # the first line of a callout
    | !?\[\[[^\]\n]*\]\] | !?\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\]|:) | \[\^[^\]\n]*\] | \(\([^)\n]*\)\)
    | (?P<tick>`+).+?(?P=tick) | <[^>\n]*> | %%.*?%% | \$[^$\n]+\$ | \{\{.*?\}\} | [\[(][^\[\]()\n]*::[^\[\]()\n]*[\])]
    | \b\w+://\S+ | (?<![!-~])[!-~]*[/\\@][!-\[\]-{}~]+ | (?<!\w)\#[^\s\#]+       # addresses, paths, tags
"""
_FLAGS = re.MULTILINE | re.VERBOSE | re.IGNORECASE
_METADATA = lazy(_APART, _FLAGS)
_NO_LINK = lazy(_APART + _TAKEN, _FLAGS)
_VISIBLE = lazy(r"[^\n]")


class Note(NamedTuple):
    """A person's note in its current state. Outlines (pages of Logseq) have no [[title|words]] links."""

    path: str
    text: str
    outline: bool = False

    @property
    def body(self) -> str:
        """The text without front matter and properties."""
        return _METADATA.sub("", self.text).strip()

    @property
    def front(self) -> str:
        """The front matter; "" without one."""
        match = _METADATA.match(self.text)
        return match[0] if match and match[0].startswith("---") else ""

    @property
    def linkable(self) -> str:
        """The text with NUL for everything that must not become part of a link: code, headings, properties, links."""
        return _NO_LINK.sub(lambda match: _VISIBLE.sub("\0", match[0]), self.text)

    @property
    def ends_in_code(self) -> bool:
        """Whether a code block is still open at the end."""
        return any(m["fence"] and m["close"] is None for m in _NO_LINK.finditer(self.text))

    @property
    def last(self) -> int:
        """The number of the last line that is not blank; 0 in an empty note."""
        stripped = self.text.rstrip()
        return stripped.count("\n") + 1 if stripped else 0

    def line(self, number: int) -> str:
        """A line without its end; "" where there is none."""
        lines = self.text.split("\n")
        return lines[number - 1].removesuffix("\r") if 1 <= number <= len(lines) else ""


# Names in it

MOST_WORDS = 6
SHORTEST_CJK, LONGEST_CJK = 4, 12  # shorter ones are mostly ordinary words or parts of longer ones
SINGLE = 6  # letters of a one-word title; shorter ones are mostly ordinary words
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_RUN = lazy(rf"[{_CJK}]{{2,}}")
_WORD = lazy(rf"[^\W_{_CJK}]+(?:['’-][^\W_{_CJK}]+)*")
_OPENS = lazy(
    r"(?:^|[.!?:;|。！？：；])[\s\"'“”‘’(*_>#=~-]*(?:\d+[.)]\s+)?(?:\[.\]\s+)?[\s*_=~\"'“”‘’]*$"
)
_LABEL = lazy(r"[*_ ]*[:：]")
_DATE = lazy(r"[\d\s.:/_-]+")


class Name(NamedTuple):
    """Words in a note that name another note."""

    line: int
    column: int
    words: str  # as they are written
    title: str


def names(titles: Iterable[str]) -> dict[str, str]:
    """The titles to look for, by their words in lower case: unambiguous ones that are not ordinary words."""
    by_key: dict[str, list[str]] = defaultdict(list)
    for title in titles:
        by_key[_key(title)].append(title)
    return {key: same[0] for key, same in by_key.items() if key and len(same) == 1}


def _key(title: str) -> str:
    if _DATE.fullmatch(title):
        return ""
    if _RUN.fullmatch(title):
        return title if SHORTEST_CJK <= len(title) <= LONGEST_CJK else ""
    parts = _WORD.findall(title)
    if " ".join(parts) != " ".join(title.split()) or not 1 <= len(parts) <= MOST_WORDS:
        return ""  # with punctuation inside, it hardly appears so in a sentence
    if len(parts) == 1 and (len(title) < SINGLE or title[0].islower()):
        return ""
    return "" if parts[0].lower() in words("determiners") else " ".join(parts).lower()


def names_in(text: str, linkable: str, titles: Mapping[str, str]) -> Iterator[Name]:
    """The first occurrence of each name; the longest match wins. `linkable` has NUL where no link may be."""
    seen: set[str] = set()
    lines = zip(text.split("\n"), linkable.split("\n"), strict=True)
    for number, (line, open_line) in enumerate(lines, 1):
        for start, end in _candidates(open_line, titles):
            title = titles[" ".join(line[start:end].lower().split())]
            if title not in seen and _is_meant(line, start, end, title):
                seen.add(title)
                yield Name(number, start, line[start:end], title)


def _candidates(line: str, titles: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    words = [match.span() for match in _WORD.finditer(line)]
    yield from _longest(words, MOST_WORDS, line, titles)
    for run in _RUN.finditer(line):
        signs = [(at, at + 1) for at in range(*run.span())]
        yield from _longest(signs, LONGEST_CJK, line, titles)


def _longest(
    parts: Sequence[tuple[int, int]], most: int, line: str, titles: Mapping[str, str]
) -> Iterator[tuple[int, int]]:
    """The spans of up to `most` parts that are wanted names, none inside another."""
    at = 0
    while at < len(parts):
        for count in range(min(most, len(parts) - at), 0, -1):
            start, end = parts[at][0], parts[at + count - 1][1]
            if " ".join(line[start:end].lower().split()) in titles:
                yield start, end
                at += count - 1
                break
        at += 1


def _is_meant(line: str, start: int, end: int, title: str) -> bool:
    """Whether words are meant as a name: not a label, and a single word is spelled exactly like the title."""
    if "_" in (line[start - 1 : start], line[end : end + 1]):
        return False  # part of a longer name
    if _RUN.fullmatch(title):
        return True
    if _LABEL.match(line, end) and _OPENS.search(line[:start]):
        return False
    if len(title.split()) > 1:
        return True
    if line[start:end] != title:
        return False
    has_inner = any(letter.isupper() or letter.isdigit() for letter in title[1:])
    return (has_inner and not title.isupper()) or not _OPENS.search(line[:start])


# Whether a name is a misspelling of another; when in doubt, no.

_HAN = lazy(f"[{_CJK}]")
_LEFT_OUT = lazy(r"[^\w+#]|_")  # C, C++ and C# are three things
_DIGITS = lazy(r"\d+")
_LETTERS = lazy(r"[^\W_]+")
_ENDING = lazy(r"\.[A-Za-z]\w{1,4}$")  # of a file that is not a note
_FILLED_IN = ("{{", "<%", "{%")  # to be filled in by a template
_DAY_PART = form("day_part")
_BETWEEN = lazy(r"[\W_年月日号號]+")
_PICTURE = lazy("[\u2600-\u27bf\U0001f300-\U0001faff]")
SHORT = 5  # letters: in a name this short, any other letter makes another name
LETTERS_PER_SLIP = 6
SHORT_WORD = 3  # letters: "Team A" is not "Team B"
SHORT_CJK = 5


def spelling(name: str) -> str:
    """A name without case, blanks and punctuation, and with traditional characters simplified."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _LEFT_OUT.sub("", folded).translate(_simplified())


@cache
def _simplified() -> dict[int, int]:
    texts = language().table("texts")
    return str.maketrans(texts["traditional"], texts["simplified"])


def slips(name: str, title: str) -> int | None:
    """How many slips turn the title into the name; None if it is another name."""
    if _are_different(name, title):
        return None
    short, long = sorted((spelling(name), spelling(title)), key=len)
    if short == long:
        return 0 if len(short) > 1 else None
    if _HAN.search(name + title):
        # Never a replaced character: that makes another word.
        signs = language().table("texts")["telling"]
        is_one_more = len(short) > SHORT_CJK and any(
            long[:at] + long[at + 1 :] == short and sign not in signs
            for at, sign in enumerate(long)
        )
        return 1 if is_one_more else None
    if not short or short[0] != long[0]:
        return None
    if long in (f"{short}s", f"{short}es") or (short[-1] == "y" and long == f"{short[:-1]}ies"):
        return 1 if len(short) >= SHORT_WORD else None
    most = 0 if len(short) <= SHORT else len(short) // LETTERS_PER_SLIP
    return edits(short, long, most) if _words_agree(name, title) else None


def _are_different(name: str, title: str) -> bool:
    """Whether numbers, endings, pictures or days distinguish the two, or one is a template's placeholder."""
    pictures = set(_PICTURE.findall(name)), set(_PICTURE.findall(title))
    return (
        any(mark in name + title for mark in _FILLED_IN)
        or _is_day(name)
        or _is_day(title)
        or _DIGITS.findall(name) != _DIGITS.findall(title)
        or _ending(name) != _ending(title)
        or (all(pictures) and pictures[0] != pictures[1])
    )


def _is_day(name: str) -> bool:
    parts = [part for part in _BETWEEN.split(name) if part]
    return bool(_DIGITS.search(name)) and all(map(_DAY_PART.fullmatch, parts))


def _ending(name: str) -> str:
    match = _ENDING.search(name.removesuffix(".md"))
    return match[0].lower() if match else ""


def _words_agree(name: str, title: str) -> bool:
    """Whether corresponding words are equal, with at most one slip in each long one."""
    one, other = (_LETTERS.findall(text.casefold()) for text in (name, title))
    return len(one) == len(other) and all(
        a == b or (min(len(a), len(b)) > SHORT_WORD and a[0] == b[0] and edits(a, b, 1) is not None)
        for a, b in zip(one, other, strict=True)
    )


class Titles:
    """Titles by the first letter of their spelling, which nobody misspells."""

    def __init__(self, titles: Iterable[str]) -> None:
        self._by_letter: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for title in sorted(set(titles)):
            letters = spelling(title)
            self._by_letter[letters[:1]].append((len(letters), title))

    def nearest(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """The titles that the name may misspell, best first; none if two are equally near."""
        letters = spelling(name[:200])
        size, reach = len(letters), 3 + len(letters) // 6
        close = (t for length, t in self._by_letter[letters[:1]] if abs(length - size) <= reach)
        near = sorted((n, title) for title in close if (n := slips(name, title)) is not None)
        if len(near) > 1 and near[0][0] == near[1][0]:
            return ()
        return tuple(title for _, title in near[:limit])
