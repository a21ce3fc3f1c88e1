"""How similar two contents are: equal, with the same beginning, or sharing most of their words.

Sketches are one-permutation min-hashes (Li, Owen, Zhang 2012) with optimal densification (Shrivastava 2017), of which
eight bits per value are kept (b-bit minwise hashing, Li, König 2010): small enough to keep ten thousand of them in
memory and compare them one by one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from operator import eq
from zlib import crc32

from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import lazy

if TYPE_CHECKING:
    import hashlib

SIZE = 32  # values of a sketch
_CAP = 20_000  # characters of a content that sketches and shingles use
_OPENING = 100
# Values per key: 10 keys, of which texts with J = 0.7 share one with probability 1-(1-0.7^3)^10 = 98 %.
_BAND = 3
_BITS = 256
_RUN = 3  # units in a shingle
# Scripts without blanks between words, and Hangul, whose words end in particles: each character is a unit.
_ALONE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\uff66-\uff9f\U00020000-\U0003ffff"
)
_ASCII_UNIT = lazy(r"\w+")  # the other takes 3 ms to compile
_UNIT = lazy(rf"[{_ALONE}]|[^\W{_ALONE}]+")
_NO_TEXT = lazy("[\0\ud800-\udfff]")
_MIX, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1
_LENT = 0xD1B54A32D192ED03


def normal_form(content: str) -> str:
    r"""The normal form of a content: NFC, line ends "\n", without trailing blanks and surrounding empty lines. NUL and
    lone surrogates, which no text file can hold, become U+FFFD."""
    if not content.isascii():
        content = unicodedata.normalize("NFC", content)
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    if " \n" in content or "\t\n" in content or content.endswith((" ", "\t")):
        content = "\n".join(line.rstrip(" \t") for line in content.split("\n"))
    content = content.strip("\n")
    if "\0" in content or not content.isascii():
        content = _NO_TEXT.sub("\ufffd", content)
    return content


def content_hash(content: str) -> str:
    """The SHA-256 of the content's normal form, in hex."""
    return _sha256()(normal_form(content).encode()).hexdigest()


@cache
def _sha256() -> Callable[[bytes], hashlib._Hash]:
    """Python's own SHA-256: hashlib would load OpenSSL, a quarter of a bare start."""
    for name in ("_sha2", "_sha256", "hashlib"):  # the first from Python 3.12 on, the second before
        with suppress(ImportError):
            return __import__(name).sha256  # type: ignore[no-any-return] # by name
    raise ImportError("no SHA-256")


def opening(content: str) -> str:
    """The first 100 characters, without case and blanks."""
    begin = " ".join(normal_form(content[:_CAP]).split())[:_OPENING]
    return begin if begin.isascii() and begin.islower() else begin.casefold()


def shingles(content: str) -> frozenset[int]:
    """All runs of three words (or characters, if words have no blanks between them) as 32-bit hashes that are the
    same in every process."""
    return frozenset(map(crc32, _runs(content)))


def sketch(content: str) -> bytes:
    """The sketch of a content for resemblance() and bands(): 32 bytes; b"" for an empty content."""
    lowest = [_MASK] * SIZE
    for run in set(_runs(content)):
        mixed = crc32(run) * _MIX & _MASK
        place = mixed >> 59
        lowest[place] = min(lowest[place], mixed)
    if lowest.count(_MASK) == SIZE:
        return b""
    return bytes(
        [(low >> 24) % _BITS if low != _MASK else _lent(lowest, n) for n, low in enumerate(lowest)]
    )


def resemblance(one: bytes, other: bytes) -> float:
    """The estimated share of their shingles that two contents have in common, from 0.0 to 1.0; its
    standard error is below 0.09."""
    if not one or not other:
        return 0.0
    equal: int = sum(map(eq, one, other))
    return max(0.0, (equal / SIZE - 1 / _BITS) / (1 - 1 / _BITS))


def resembling(row: bytes, sketch: bytes, least: float) -> list[int]:
    """The positions of the sketches in `row` (SIZE bytes each, concatenated) whose resemblance to `sketch` is about
    `least` or more. XOR turns equal bytes into 0: counting those takes a hundredth of a second for a hundred thousand
    sketches; comparing them one by one takes half a second."""
    if not row:
        return []
    equal_values = int(SIZE * (least * (1 - 1 / _BITS) + 1 / _BITS))  # values that must be equal
    both = int.from_bytes(row, "little") ^ int.from_bytes(sketch * (len(row) // SIZE), "little")
    differing = both.to_bytes(len(row), "little")
    starts = range(0, len(row), SIZE)
    return [at // SIZE for at in starts if differing.count(0, at, at + SIZE) >= equal_values]


def jaccard(one: str, other: str) -> float:
    """The exact share of their shingles that two contents have in common, from 0.0 to 1.0; 0.0 if there are none."""
    a, b = shingles(one), shingles(other)
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0


def bands(sketch: bytes) -> tuple[int, ...]:
    """Keys of which similar contents share at least one: with a Jaccard index of 0.7 in more than 95 of 100 cases,
    unrelated ones in 1 of 1,000."""
    if not sketch:
        return ()
    return tuple(
        (n << 24) | (sketch[n] << 16) | (sketch[n + 1] << 8) | sketch[n + 2]
        for n in range(0, SIZE - _BAND + 1, _BAND)
    )


def edits(one: str, other: str, most: int) -> int | None:
    """The edit distance: how many letters are removed, added, changed or swapped with the next; None beyond
    `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, other_letter in enumerate(other, 1):
            best = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == other_letter:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None


def _runs(content: str) -> list[bytes]:
    text = normal_form(content[:_CAP]).casefold()
    unit = _ASCII_UNIT if text.isascii() else _UNIT
    units = unit.findall(text) or list("".join(text.split()))
    if len(units) < _RUN:
        return ["\x1f".join(units).encode()] if units else []
    ahead = zip(units, units[1:], units[2:], strict=False)
    return [f"{a}\x1f{b}\x1f{c}".encode() for a, b, c in ahead]


def _lent(lowest: list[int], place: int) -> int:
    """The value that an empty place borrows from another, the same for all contents.

    Each place derives another eight bits from it. Otherwise a text of two words would have one value 32 times, and
    would match any other short text in 1 of 256 cases.
    """
    low = next(lowest[other] for other in _lenders(place) if lowest[other] != _MASK)
    return ((low ^ (place + 1) * _LENT) * _MIX & _MASK) >> 56


@cache
def _lenders(place: int) -> tuple[int, ...]:
    """All places in an order that looks random and differs from place to place."""
    others = range(SIZE)
    return tuple(sorted(others, key=lambda other: crc32(bytes([place, other])) * _MIX & _MASK))


_WORD = lazy(r"[^\W_]+")
_HAN = lazy(r"[\u3400-\u9fff]")
_BEGINNING = 5  # letters of a word that identify it in all its forms
_STOP_WORDS = frozenset(
    "the a an of in on at to and or is are was were be has have had user users s my their his her its it that this "
    "with for from not no".split()
)


def topic_words(text: str) -> frozenset[str]:
    """The words that say what a text is about, in their form for comparison."""
    words = (word.casefold() for word in _WORD.findall(text))
    stems = {word[:_BEGINNING] for word in words if word not in _STOP_WORDS}
    return frozenset(stems | set(_HAN.findall(text)))
