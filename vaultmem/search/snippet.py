"""The part of a block worth showing for a query, and the positions of the query's words in it; and references to
blocks, replaced by their text."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext

from vaultmem.index.catalog_read import files_named
from vaultmem.light import NamedTuple
from vaultmem.text.values import (
    BLOCK_ID,
    TYPE_CHECKING,
    lazy,
    without_editor_lines,
)
from vaultmem.vault import files
from vaultmem.vault.walk import FileLookup

if TYPE_CHECKING:
    from vaultmem.adapter import Value
    from vaultmem.memories.access import Viewer
    from vaultmem.search.query import Hit
    from vaultmem.search.search import Searcher

_WORD = lazy(r"\w+")
_LETTERS_BEYOND_ASCII = lazy(r"[^\W\x00-\x7f]+")
_DECOMPOSED = set("\u309b\u309c\u309f\u30ff")  # all other CJK characters are tokens of their own
# A stemmer replaces what it cuts off by at most two letters (dying, die), and never
# changes the first one.
STEM_ENDING = 2
_KEY = r"([^\s#:-][^:\n]*):(?=[ \n]|\Z)"  # at the start of a line of YAML
_KEYS = lazy(rf"^{_KEY}", re.MULTILINE)
_FRONT_MATTER = lazy(rf"{_KEY}.*(?:\n(?:{_KEY}|[ \t]|- |#|$).*)*", re.MULTILINE)


class _Apart(dict[int, int]):
    """The mapping of str.translate() that replaces CJK characters, each a word of its own, by NUL. As a set in a
    regular expression these take 3 ms to compile."""

    def __missing__(self, code: int) -> int:
        is_cjk = 0x3040 <= code <= 0x30FF or 0x3400 <= code <= 0x9FFF or 0xAC00 <= code <= 0xD7AF
        self[code] = replacement = 0 if is_cjk else code
        return replacement


_APART = _Apart()


class Snippet(NamedTuple):
    """A text without line breaks, and (start, end) offsets of the query's words in it."""

    text: str
    marks: list[tuple[int, int]]


class Marker:
    """Finds the words of one query in texts. `stem` is the analyzer, `query_words` are its tokens: a word is marked
    if one of its tokens is among them."""

    def __init__(self, query_words: set[str], stem: Callable[[str], Collection[str]]) -> None:
        self._wanted, self._stem = query_words, stem
        self._beginnings = _beginnings_of(query_words)
        self._known: dict[str, bool] = {}  # words examined so far

    def snippet(self, text: str, width: int = 240) -> Snippet:
        """The window of at most `width` characters with most of the wanted tokens."""
        flat = " ".join(text.split())
        return _window(flat, _merge_spans(self.spans(flat)), width)

    def spans(self, flat: str) -> list[tuple[int, int]]:
        """The positions of the words of a text that have a wanted token."""
        matches, spans = self._known, []
        for start, end in sorted(self._likely(flat)):
            word = flat[start:end].lower()
            if word not in matches:
                matches[word] = not self._wanted.isdisjoint(self._stem(word))
            if matches[word]:
                spans.append((start, end))
        return spans

    def _likely(self, flat: str) -> set[tuple[int, int]]:
        """The positions of words that may have a wanted token; others are skipped quickly."""
        if flat.isascii():
            return _starting(flat, flat.lower(), self._beginnings)
        is_wide = max(flat) >= "\u3040"
        rest = flat.translate(_APART) if is_wide else flat
        if rest == flat:
            return _starting(flat, _lower(flat), self._beginnings).union(_beyond_ascii(flat))
        query_words = self._wanted
        characters = {
            character for character in query_words if character.translate(_APART) == "\0"
        } | _DECOMPOSED
        return {
            *_starting(rest, _lower(rest), _beginnings_of(query_words - characters)),
            *_beyond_ascii(rest),
            *(
                match.span()
                for character in characters
                for match in re.finditer(re.escape(character), flat)
            ),
        }


def written(
    tokens: Collection[str], hits: Iterable[Hit], stem: Callable[[str], Collection[str]]
) -> list[str]:
    """The spellings in hits of words with one of these tokens, for which the index only has the stem."""
    marked = (hit.snippet[start:end].lower() for hit in hits for start, end in hit.marks)
    return [word for word in dict.fromkeys(marked) if not set(tokens).isdisjoint(stem(word))]


def _lower(text: str) -> str:
    """The text in lower case, with the same offsets: a letter that becomes two is cut to one."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(letter.lower()[:1] for letter in text)


def _beginnings_of(tokens: set[str]) -> set[str]:
    """The possible beginnings of words with one of these tokens, whatever their ending."""
    return {token[: max(1, len(token) - STEM_ENDING)] for token in tokens}


def _starting(flat: str, low: str, beginnings: set[str]) -> set[tuple[int, int]]:
    spans: set[tuple[int, int]] = set()
    for start in beginnings:
        place = low.find(start)
        while place >= 0:
            end = place + 1
            if not _in_word(start[0]):  # a token of one character, such as an emoji
                spans.add((place, end))
            elif not _in_word(flat[place - 1 : place]) and (match := _WORD.match(flat, place)):
                end = match.end()
                spans.add((place, end))
            place = low.find(start, end)
    return spans


def _beyond_ascii(flat: str) -> Iterator[tuple[int, int]]:
    """The words with letters that the analyzer may fold to others."""
    end = 0
    for letters in _LETTERS_BEYOND_ASCII.finditer(flat):
        if letters.start() < end:
            continue
        start = letters.start()
        while start > end and _in_word(flat[start - 1]):
            start -= 1
        if match := _WORD.match(flat, start):
            end = match.end()
            yield start, end


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _merge_spans(marks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in marks:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _window(flat: str, marks: list[tuple[int, int]], width: int) -> Snippet:
    if len(flat) <= width:
        return Snippet(flat, marks)
    start = _best_start(flat, marks, width)
    end = min(len(flat), start + width)
    if start > 0:
        blank = flat.find(" ", start, start + 20)
        start = blank + 1 if blank >= 0 else start
    if end < len(flat):
        blank = flat.rfind(" ", end - 20, end)
        end = blank if blank > start else end
    before, after = "…" if start else "", "…" if end < len(flat) else ""
    shift = len(before) - start
    inside = [(a + shift, b + shift) for a, b in marks if a >= start and b <= end]
    return Snippet(before + flat[start:end] + after, inside)


def _best_start(flat: str, marks: list[tuple[int, int]], width: int) -> int:
    """The start of the window with the most different words of the query."""
    best, best_count = 0, 0
    words = [flat[start:end].lower() for start, end in marks]
    inside: dict[str, int] = {}  # how often each word occurs among the marks from `first` to `last`
    last, before, behind = 0, min(30, width // 8), min(40, width // 6)
    for first, (start, _) in enumerate(marks[:200]):
        while last < min(len(marks), first + 40) and marks[last][1] <= start + width - behind:
            inside[words[last]] = inside.get(words[last], 0) + 1
            last += 1
        if len(inside) > best_count:
            best, best_count = max(0, start - before), len(inside)
        if last <= first:  # a word wider than the window
            last = first + 1
        elif inside[words[first]] == 1:
            del inside[words[first]]
        else:
            inside[words[first]] -= 1
    return min(best, max(0, len(flat) - width))


# The texts of notes, for display.

MAX_BYTES = 8_000_000
MOST_NOTES = 2000  # cached notes,
MOST_LETTERS = 300_000  # and characters of all together

Signature = tuple[int, int, int, int, int]


def cut_lines(text: str, first: int, last: int) -> str:
    """Lines first to last (from 1) of a text without the empty ones around them."""
    return "\n".join(text.split("\n", max(last, 0))[max(first - 1, 0) : last]).strip("\n")


def is_front(text: str, line: int) -> bool:
    """Whether a block at a line of a note is in front matter, if there is any."""
    return text.startswith(("---", "\ufeff---")) and "\n---" not in f"\n{cut_lines(text, 2, line)}"


def readable(text: str, properties: Mapping[str, Value]) -> str:
    """The text of a block for a reader: front matter in one line without empty properties, and no editor state."""
    keys = dict.fromkeys(_KEYS.findall(text) if _FRONT_MATTER.fullmatch(text) else ())
    if not keys or not keys.keys() <= properties.keys():
        return without_editor_lines(text)
    values = {key: value for key in keys if (value := properties[key]) not in (None, "", [])}
    return "; ".join(f"{key}: {_in_one_line(value)}" for key, value in values.items())


def _in_one_line(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(map(_in_one_line, value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _signed(status: os.stat_result) -> Signature:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class NoteTexts:
    """The current texts of notes. Recent ones are cached while their files are unchanged, for searches in a
    long-lived process. Several searchers use as much memory each, and share a lock."""

    def __init__(
        self, folder: str, searchers: int = 1, lock: AbstractContextManager[object] | None = None
    ) -> None:
        self._folder = folder
        self._searchers = searchers
        self._lock = lock or nullcontext()
        self._known: dict[str, tuple[Signature, str]] = {}  # least recently used first
        self._size = 0

    def read(self, paths: Iterable[str]) -> dict[str, str]:
        """The texts of notes by path; "" if unreadable."""
        look = FileLookup(self._folder)
        with files.Inside(self._folder) as inside:
            return {path: self._read(inside, path, look) for path in dict.fromkeys(paths)}

    def _read(self, inside: files.Inside, path: str, look: FileLookup) -> str:
        with self._lock:
            cached = self._known.pop(path, None)
            self._size -= len(cached[1]) if cached else 0
        if cached and cached[0] == self._signature(path, look):
            with self._lock:
                self._remember(path, *cached)
            return cached[1]
        try:
            data, status, was_quiet = files.content_of(inside.open(path), MAX_BYTES)
            text, _ = files.decode(data)
        except (OSError, ValueError):
            return ""
        if was_quiet and time.time_ns() - max((seen := _signed(status))[3:]) > files.SETTLED_NS:
            with self._lock:
                self._remember(path, seen, text)
        return text

    def _remember(self, path: str, seen: Signature, text: str) -> None:
        most = self._searchers * MOST_LETTERS
        if len(text) > most // 4 or path in self._known:
            return  # it would displace too many others, or another thread was first
        self._known[path] = seen, text
        self._size += len(text)
        while len(self._known) > self._searchers * MOST_NOTES or self._size > most:
            _, oldest = self._known.pop(next(iter(self._known)))
            self._size -= len(oldest)

    def _signature(self, path: str, look: FileLookup) -> Signature | None:
        """A fingerprint of a file; None if it is missing or behind a link."""
        try:
            status = os.lstat(f"{self._folder}/{path}")
        except (OSError, ValueError):
            return None
        is_file = stat.S_ISREG(status.st_mode) and look.has_folder(path.rpartition("/")[0])
        return _signed(status) if is_file else None


# References to blocks of an outline, replaced by their label or the text of the block, as its editor shows them. The id
# of a block tells a reader nothing. Where its note is hidden from the viewer, or is gone, the id stays.

_DEPTH = 2  # nested references; deeper ones stay, as in blocks that refer to each other
_MOST = 100  # blocks referenced by one text
_LONGEST = 400  # characters of a block

_REFERENCE = lazy(
    rf"\[(?P<label>[^\[\]\n]+)\]\(\(\({BLOCK_ID}\)\)\)"
    rf"|\{{\{{embed[ \t]+\(\((?P<embedded>{BLOCK_ID})\)\)[ \t]*\}}\}}|\(\((?P<id>{BLOCK_ID})\)\)"
)
_BULLET = lazy(r"^[ \t]*(?:-|#+|\*+)(?:[ \t]+|$)", re.MULTILINE)


def with_referenced_texts(searcher: Searcher, text: str, viewer: Viewer) -> str:
    """The text with the blocks that it refers to, as far as the viewer may see them."""
    blocks = _Blocks(searcher, viewer)
    for _ in range(_DEPTH):
        text = _REFERENCE.sub(blocks.shown, text)
    return text


class _Blocks:
    """The blocks that one text refers to; each, and each page, is looked up once."""

    def __init__(self, searcher: Searcher, viewer: Viewer) -> None:
        self._searcher, self._viewer = searcher, viewer
        self._hidden = searcher.hidden_from(viewer)
        self._pages: dict[str, tuple[str, str]] = {}  # their texts, also in lower case
        self._known: dict[str, str] = {}

    def shown(self, reference: re.Match[str]) -> str:
        """The text that replaces a reference."""
        if reference["label"]:
            return reference["label"]
        id_ = (reference["embedded"] or reference["id"]).lower()
        if id_ not in self._known and len(self._known) < _MOST:
            self._known[id_] = self._block(id_)
        return self._known.get(id_) or reference[0]

    def _block(self, id_: str) -> str:
        """The text of the block with an id, on one line; "" if the viewer may see none."""
        from vaultmem.notes.dialects import installed  # few texts have references

        named = (f"{number}:(({id_}))" for number in range(len(installed())))  # see Rulebook
        for path in (
            path for name in named for path, _ in files_named(self._searcher.catalog, name)
        ):
            text, low = self._page(path)
            at = low.find(id_)
            while at >= 0:
                start, end = _line_around(text, at)
                if re.fullmatch(rf".*\bid::?[ \t]+{id_}[ \t]*", text[start:end], re.IGNORECASE):
                    return _text_around(text, start, end)
                at = low.find(id_, end)
        return ""

    def _page(self, path: str) -> tuple[str, str]:
        if path not in self._pages:
            text = "" if path in self._hidden else self._searcher.texts.read([path])[path]
            if self._searcher.hidden_now(path, text, self._viewer):
                text = ""
            low = text.lower()
            self._pages[path] = text, low if len(low) == len(text) else text
        return self._pages[path]


def _line_around(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _text_around(text: str, start: int, end: int) -> str:
    """The text of the block whose id line is between two offsets."""
    first = start
    while first and not _BULLET.match(text, first):
        first = text.rfind("\n", 0, first - 1) + 1
    following = _BULLET.search(text, max(end, start + 1))
    whole = text[first : following.start() if following else len(text)]
    own_text = _BULLET.sub("", without_editor_lines(whole), count=1)
    line = " ".join(own_text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
