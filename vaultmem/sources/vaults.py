"""Other vaults, read as their editor reads them: Obsidian's and Logseq's, and folders of plain text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from vaultmem.core.places import ours_as
from vaultmem.dialects import Rulebook, open_rulebook
from vaultmem.sources import NOTHING, Apart, Found, Passed
from vaultmem.sources.marked import marked, said_by
from vaultmem.sources.tree import Text, Tree
from vaultmem.store import pages, vault
from vaultmem.store.frontmatter import split
from vaultmem.store.vault import Root

_NOTE = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_TEXT = re.compile(r"\.(?:md|markdown|txt|text)$", re.IGNORECASE)
_MEMORIES = (
    "vaultmem"  # the memory folder of a vault that vaultmem keeps, if nobody has named another
)
_KNOWN_VAULTS = (  # where Obsidian lists its vaults
    ".config/obsidian", "Library/Application Support/obsidian", ".var/app/md.obsidian.Obsidian/config/obsidian",
    "snap/obsidian/current/.config/obsidian",
)  # fmt: skip


class Notes(NamedTuple):
    """The source of one dialect."""

    name: str
    about: str

    def places(self, home: str) -> tuple[str, ...]:
        """The vaults that Obsidian knows; ~/logseq."""
        if self.name == "logseq":
            return (os.path.join(home, "logseq"),)
        return tuple(dict.fromkeys(path for each in _KNOWN_VAULTS for path in _listed(home, each)))

    def found(self, root: str, apart: Apart = NOTHING) -> Iterator[Found | Passed]:
        """All notes but those that the person hides, and what vaultmem itself has put there and away."""
        tree = Tree(root, apart)
        rules = open_rulebook(Root(tree.root), self.name)
        for entry in tree.files(_NOTE):
            if isinstance(entry, Passed):
                yield entry
            elif rules.kind(entry.path) != "note" or ours_as(entry.path, _MEMORIES) != "note":
                continue
            elif rules.excluded(entry.path):
                yield Passed(entry.path, "hidden by the settings of its vault")
            else:
                read = tree.read(entry)
                yield _note(rules, entry.path, read) if isinstance(read, Text) else read


def _note(rules: Rulebook, path: str, read: Text) -> Found:
    note = rules.parse(path, read.text, split(read.text))
    page = pages.read(rules.page_style(path), read.text)
    text = read.text if page.error else page.content
    if not text.strip():
        text = said_by(note.title, page.properties)
    links = tuple(
        dict.fromkeys(each.path for each in note.links if each.kind in ("frontmatter", "property"))
    )
    kind = "journal" if note.journal else "note"
    aliases, tags = note.aliases, note.tags
    return Found(
        read.path, text, note.title, tags, aliases, links, page.properties, kind,
        day=note.journal or "", written=read.written,
    )  # fmt: skip


def _listed(home: str, folder: str) -> list[str]:
    """The vaults in one list of Obsidian's."""
    try:
        given = json.loads(vault.read(os.path.join(home, folder), "obsidian.json").text)
        known = given["vaults"].values()
        return sorted(each["path"] for each in known if isinstance(each["path"], str))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


class Texts(NamedTuple):
    """The source of any text; nothing is known of it but its folder, which has to be named."""

    name: str
    about: str

    def places(self, home: str) -> tuple[str, ...]:  # noqa: ARG002 - as all sources
        """None."""
        return ()

    def found(self, root: str, apart: Apart = NOTHING) -> Iterator[Found | Passed]:
        """All files of text; a file that is named may be called as it likes."""
        wanted = re.compile("") if os.path.isfile(root) else _TEXT
        for each in Tree(root, apart).texts(wanted):
            if isinstance(each, Passed):
                yield each
            else:
                found = marked(each.path, each.text, "text")
                yield found._replace(written=each.written)


obsidian = Notes("obsidian", "notes of an Obsidian vault")
logseq = Notes("logseq", "pages and journals of a Logseq graph")
text = Texts("text", "files of text (.txt, .md) of a folder, or one file")
