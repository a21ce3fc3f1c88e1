"""The keyword index: Tantivy over blocks (the only importer of tantivy).

One analyzer serves all languages: in scripts without blanks between words (CJK, Thai), every character is a token, as
are emoji; everything else is split into words, lower-cased, folded to ASCII and stemmed by its script. Words in
scripts without blanks are found as phrases of two characters. No text is stored: snippets are read from the notes,
which are the truth.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache

import tantivy

from vaultmem.errors import NO_ROOM, DamagedError, NoRoomError, StateError
from vaultmem.index import ANALYZER, ORD_BITS
from vaultmem.paths import keep_private, make_private
from vaultmem.text.values import TYPE_CHECKING, lazy

if TYPE_CHECKING:
    from vaultmem.index.catalog_write import Entry

MAX_WORD = 64
MOST_REMEMBERED = 5000  # words
HEAP_BYTES = 64_000_000
SHORT = 200  # characters of frequently repeated texts: titles, headings, tags
# Prefixes of the Unicode names of characters that are words of their own.
_CJK = (
    "CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "CJK RADICAL", "KANGXI", "HANGZHOU", "IDEOGRAPHIC ITERATION",
    "IDEOGRAPHIC NUMBER", "HIRAGANA", "KATAKANA ", "HALFWIDTH KATAKANA ", "HANGUL", "HALFWIDTH HANGUL", "HENTAIGANA",
    "THAI ", "LAO ", "KHMER ", "MYANMAR ",
)  # fmt: skip
# Scripts with their own stemmer, which leaves all other words alone.
_STEMMED = {
    "greek": lazy("[\u0370-\u03ff]"), "russian": lazy("[\u0400-\u04ff]"), "arabic": lazy("[\u0600-\u06ff]"),
    "tamil": lazy("[\u0b80-\u0bff]"),
}  # fmt: skip
_ANY_STEMMED = lazy("|".join(stemmed.pattern for stemmed in _STEMMED.values()))

TEXT_FIELDS = ("body", "near", "title", "heading", "label", "tag", "path")


def analyzer() -> tantivy.TextAnalyzer:
    """The analyzer for notes and queries alike, for texts prepared by words()."""
    filters = tantivy.Filter
    return _between_blanks(
        filters.remove_long(MAX_WORD), filters.lowercase(), filters.ascii_fold(), filters.stemmer("english")
    )  # fmt: skip


def _between_blanks(*filters: tantivy.Filter) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    for filter_ in filters:
        builder = builder.filter(filter_)
    return builder.build()


def normal(text: str) -> str:
    """One spelling for characters that look the same (NFKC: composed accents, full-width letters)."""
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", text)


class _Cut(dict[int, str]):
    """The mapping of str.translate(): letters, digits and marks stay, a CJK character gets blanks around it, all
    others become blanks. Ten times as fast as a regular expression in Tantivy's tokenizer."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = unicodedata.category(character)
        if kind == "So" or (kind[0] != "P" and unicodedata.name(character, "").startswith(_CJK)):
            cut = f" {character} "
        elif unicodedata.name(character, "").startswith("VARIATION SELECTOR"):
            cut = ""  # a variation of the preceding character
        else:
            cut = character if kind[0] in "LNM" or character == "_" else " "
        self[code] = cut
        return cut


_CUTS = _Cut()


def words(text: str) -> str:
    """A text prepared for the analyzer: words and single CJK characters, separated by blanks."""
    text = normal(text).translate(_CUTS)
    if text.isascii() or not _ANY_STEMMED.search(text):
        return text
    for language, letters in _STEMMED.items():
        if letters.search(text):
            text = " ".join(stemmer(language).analyze(text))
    return text


def tokenize(text: str) -> tuple[str, ...]:
    """The analyzer's tokens for a text."""
    return _short_tokens(text) if len(text) <= MAX_WORD else _tokenized(text)


def _tokenized(text: str) -> tuple[str, ...]:
    return tuple(_analyzer().analyze(words(text)))


_analyzer = cache(analyzer)
_short_tokens = lru_cache(MOST_REMEMBERED)(_tokenized)


@cache
def stemmer(language: str) -> tantivy.TextAnalyzer:
    """A function that stems each word of a text by the rules of a language ("german")."""
    return _between_blanks(tantivy.Filter.lowercase(), tantivy.Filter.stemmer(language))


@cache
def without_stop_words(language: str) -> tantivy.TextAnalyzer | None:
    """A function that removes stop words from a text; None if Tantivy has no list for the language."""
    try:
        return _between_blanks(tantivy.Filter.stopword(language))
    except ValueError:
        return None


def folded(word: str) -> str:
    """A word in lower case without accents, as the analyzer has it before stemming."""
    return _folder().analyze(word)[0]


@cache
def _folder() -> tantivy.TextAnalyzer:
    return _between_blanks(tantivy.Filter.lowercase(), tantivy.Filter.ascii_fold())


_short_words = lru_cache(maxsize=1024)(words)


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in TEXT_FIELDS:
        builder = builder.add_text_field(name, tokenizer_name=ANALYZER, index_option="position")
    for name in ("block", "size"):
        builder = builder.add_unsigned_field(name, fast=True)
    builder = builder.add_unsigned_field("note", indexed=True)
    for name in ("day", "monthday"):
        builder = builder.add_unsigned_field(name, indexed=True)
    return builder.build()


def open_index(folder: str, *, create: bool = False) -> tantivy.Index:
    """Open (or create) the index in `folder`. Raises OSError or ValueError if it is damaged."""
    if create:
        make_private(folder)
        index = tantivy.Index(_schema(), path=folder)
    else:
        index = tantivy.Index.open(folder)
    index.register_tokenizer(ANALYZER, analyzer())
    return index


# Tantivy and Python name errors of the system in three ways. These mean that the disk is full, a limit is reached, or
# writing is forbidden.
_ERRNO = lazy(r"(?:os error |code: |\[Errno )(\d+)")
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def keyword_errors() -> Iterator[None]:
    """Translate ValueError, which Tantivy raises for everything: tell a full disk from a damaged file. Only for what
    reads or writes files: a query that cannot be built is no damage, and a rebuilt index would not help."""
    try:
        yield
    except (OSError, ValueError) as error:
        if not _NO_ROOM.isdisjoint(map(int, _ERRNO.findall(str(error)))):
            raise NoRoomError(NO_ROOM.format(error)) from error
        raise _damage_error(error) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # a Rust panic, which is not an Exception
            raise _damage_error(error) from error
        raise


def open_to_read(folder: str) -> tuple[tantivy.Index, tantivy.Searcher, bool]:
    """Open the index for searching. Returns it, and whether it can see later writes. Even to read, Tantivy takes a
    lock: on a write-protected disk it is opened through links in another folder, and does not change."""
    try:
        return *_open(folder), True
    except DamagedError:
        raise
    except StateError:
        import shutil  # rarely needed
        import tempfile

        elsewhere = tempfile.mkdtemp(prefix="vaultmem-")
        try:
            for name in os.listdir(folder):
                if not name.endswith(".lock"):
                    os.symlink(os.path.join(folder, name), os.path.join(elsewhere, name))
            return *_open(elsewhere), False
        finally:
            # A Tantivy thread checks again and takes its lock there, perhaps while the folder is being emptied.
            os.rename(elsewhere, gone := f"{elsewhere}.gone")
            shutil.rmtree(gone, ignore_errors=True)


@keyword_errors()
def _open(folder: str) -> tuple[tantivy.Index, tantivy.Searcher]:
    index = open_index(folder)
    return index, index.searcher()


def _damage_error(error: BaseException) -> DamagedError:
    return DamagedError(f"the keyword index is damaged ({error}); run vaultmem sync --rebuild")


def _remove_leftovers(folder: str) -> None:
    """Remove files that Tantivy was about to rename when killed; it never looks at them again."""
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if name.startswith(".tmp"):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, name))


class KeywordWriter:
    """Adds and removes the blocks of notes. Nothing is visible to searches before commit()."""

    @keyword_errors()
    def __init__(self, folder: str) -> None:
        _remove_leftovers(folder)
        self._folder = folder
        index = open_index(folder, create=not os.path.exists(os.path.join(folder, "meta.json")))
        self._schema = index.schema
        # Then new notes have nothing to be removed.
        self.was_empty = index.searcher().num_docs == 0
        self._writer = index.writer(HEAP_BYTES, 1)
        # A kill during a commit leaves files that would block every later one.
        self._writer.garbage_collect_files()
        # A writer's first operation has the number of the commit before it, and a merge of what a killed writer left
        # takes it for carried out: let it be one without effect, as no note has this number.
        self.remove(0)

    def remove(self, note: int) -> None:
        """Remove all blocks of a note."""
        # Not by term: tantivy-py turns a number into a signed term, which never matches an unsigned field.
        self._writer.delete_documents_by_query(tantivy.Query.term_query(self._schema, "note", note))

    def add(self, note: int, entry: Entry) -> None:
        """Add one block of a note."""
        document = tantivy.Document()
        for name, text in entry.texts.items():
            if text:
                document.add_text(name, words(text) if len(text) > SHORT else _short_words(text))
        document.add_unsigned("note", note)
        document.add_unsigned("block", note << ORD_BITS | entry.ordinal)
        document.add_unsigned("size", entry.size)
        if entry.day:
            document.add_unsigned("day", entry.day)
            document.add_unsigned("monthday", entry.day % 10000)
        self._writer.add_document(document)

    @keyword_errors()
    def commit(self) -> None:
        """Make everything since the last commit durable and visible."""
        self._writer.commit()
        self._seal()

    @keyword_errors()
    def close(self) -> None:
        """Wait for merges and release the index."""
        self._writer.wait_merging_threads()
        self._seal()

    def _seal(self) -> None:
        """Restrict permissions: Tantivy makes its files readable by everyone."""
        for name in os.listdir(self._folder):
            keep_private(os.path.join(self._folder, name))
