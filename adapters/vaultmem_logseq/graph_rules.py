"""The rules of the dialect: which files are pages and how links find them."""

from __future__ import annotations

import os
from functools import cached_property

from vaultmem.light import TYPE_CHECKING
from vaultmem_logseq import HOME, MIRROR
from vaultmem_logseq.config_edn import Settings
from vaultmem_logseq.names import JournalDays, canonical, day_key, title_from_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vaultmem.adapter import Completion, FrontMatter, Note, Task
    from vaultmem_logseq.page import PageReader

_READING = "4"  # raise it when pages are parsed differently
_FORMATS = (".md", ".markdown", ".org")
_NOT_PAGES = ("logseq/bak/", "logseq/version-files/")
# A real page wins over an alias: links look for the page first. Page names begin with no slash.
_ALIAS = "/alias/"


class LogseqRules:
    """Logseq's reading of one graph."""

    dialect = "logseq"
    mention_style = "latin"
    uri_template = "logseq://graph/{vault}?page={title}"
    page_style = "outline"  # a YAML block would be read, but not its lists (R-LS-19)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that parsing depends on."""
        import hashlib  # it loads OpenSSL, and only indexing needs it

        settings = (sorted(x) if isinstance(x, frozenset) else x for x in self.settings)
        described = repr([_READING, *settings])
        return f"logseq-{hashlib.sha256(described.encode()).hexdigest()[:16]}"

    @cached_property
    def days(self) -> JournalDays:
        """The names that are days; looking up a name does not need the reader of pages."""
        return JournalDays(self.settings.title_format, self.settings.file_format)

    @cached_property
    def reader(self) -> PageReader:
        """The reader of pages, which most commands that only write a memory do not need."""
        from vaultmem_logseq.page import PageReader

        return PageReader(self.settings, self.days)

    def kind(self, path: str) -> str:
        """ "note" for pages and journals; nothing else can be linked to."""
        if not path.lower().endswith(_FORMATS) or path.startswith(_NOT_PAGES):
            return ""
        if path.startswith(".") or "/." in path or "node_modules/" in path:
            parts = path.split("/")
            if "node_modules" in parts[:-1] or any(part.startswith(".") for part in parts):
                return ""
        return "" if path.startswith(self.settings.hidden) else "note"

    def excluded(self, path: str) -> bool:  # noqa: ARG002 - part of the contract
        """Always False: files matched by `:hidden` are not pages at all."""
        return False

    def parse(self, path: str, text: str, front: FrontMatter) -> Note:
        """Read a page."""
        return self.reader.read(path, text, front)

    def names(self, path: str, note: Note | None) -> tuple[str, ...]:  # noqa: ARG002 - the contract
        """The page's key, its aliases and its blocks."""
        if note is None:
            return ()
        key = self.days.key
        name = day_key(note.journal) if note.journal else canonical(note.title)
        aliases = (_ALIAS + key(alias) for alias in note.aliases)
        return tuple(dict.fromkeys([name, *aliases, *(f"(({anchor}))" for anchor in note.anchors)]))

    def lookups(self, key: str) -> tuple[str, ...]:
        """The page itself, then a page with this alias."""
        return (key,) if key.startswith("((") else (key, _ALIAS + key)

    def affected(self, name: str) -> tuple[str, ...]:
        """The one key that looks for this name."""
        return (name.removeprefix(_ALIAS),)

    def resolve(
        self,
        path: str,  # noqa: ARG002 - part of the contract
        key: str,
        source: str,  # noqa: ARG002 - part of the contract
        candidates: Sequence[str],
    ) -> str | None:
        """The target: a page named by its file before one named by `title::`, then by order."""

        def rank(candidate: str) -> tuple[bool, bool, str]:
            title = title_from_path(candidate, triple_lowbar=self.settings.triple_lowbar)
            at_home = candidate.startswith(HOME)
            return self.days.key(title) != key, not at_home, candidate

        return min(candidates, key=rank, default=None)

    def completed(self, path: str, text: str, task: Task, done: Completion) -> str | None:
        """The text with DONE, or with the next date of a repeating task."""
        from vaultmem_logseq.completing import complete

        return complete(path, text, task, done)

    def is_mirror(self, path: str) -> bool:
        """Whether Logseq writes the page from its database."""
        return path.startswith(MIRROR)

    def views(self) -> Mapping[str, str]:
        """A page of queries."""
        path = os.path.join(os.path.dirname(__file__), "memories.page")
        with open(path, encoding="utf-8") as file:
            return {"Memories.md": file.read()}
