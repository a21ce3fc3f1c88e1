"""What vaultmem sees in a folder, in the words of the link cases (see data/link_cases)."""

from __future__ import annotations

import importlib
import importlib.util
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaultmem.core import mentions
from vaultmem.store.frontmatter import split
from vaultmem.store.frontmatter_edit import set_property as edited

if TYPE_CHECKING:
    from vaultmem.adapter import FrontMatter, Link, Note, Rules, Task

_PLACEHOLDER = re.compile(r"\(\(.*\)\)")


class _Folder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()

    def read(self, path: str) -> bytes | None:
        try:
            return (self.root / path).read_bytes()[:1_000_000]
        except OSError:
            return None


class Vault:
    """All notes of a folder, read with one dialect, and their links resolved through its rules."""

    def __init__(self, root: Path, dialect: str) -> None:
        self.rules: Rules = importlib.import_module(f"vaultmem_{dialect}").dialect.open(
            _Folder(root)
        )
        self.texts: dict[str, str] = {}
        self.fronts: dict[str, FrontMatter] = {}
        self.notes: dict[str, Note] = {}
        self.named: dict[str, list[str]] = {}
        for file in sorted(p for p in root.rglob("*") if p.is_file()):
            self._read(unicodedata.normalize("NFC", file.relative_to(root).as_posix()), file)

    def _read(self, path: str, file: Path) -> None:
        kind = self.rules.kind(path)
        note = None
        if kind == "note":
            text = file.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")
            self.texts[path] = text
            self.fronts[path] = split(text)
            note = self.notes[path] = self.rules.parse(path, text, self.fronts[path])
        if kind:
            for name in self.rules.names(path, note):
                self.named.setdefault(name, []).append(path)

    def target(self, source: str, link: Link) -> str | None:
        if link.key == "":
            return source
        for name in self.rules.lookups(link.key):
            if name in self.named:
                return self.rules.resolve(link.path, link.key, source, self.named[name])
        return None

    def links(self) -> list[tuple[str, Link, str | None]]:
        found = []
        for source, note in self.notes.items():
            found += [(source, link, self.target(source, link)) for link in note.links]
        return found

    def mentioning(self, path: str) -> list[str]:
        note = self.notes[path]
        logseq = self.rules.dialect == "logseq"
        pattern = (mentions.logseq_names if logseq else mentions.obsidian_names)(
            [note.title, *note.aliases]
        )
        if pattern is None:
            return []
        found = []
        for source, other in self.notes.items():
            if source == path or self.rules.excluded(source):
                continue
            spans = [(link.start, link.end) for link in other.links]
            body = self.fronts[source].body
            if next(mentions.mentions(pattern, self.texts[source], spans, body), None):
                found.append(source)
        return found


def dump(vault: str, case: dict[str, Any]) -> dict[str, Any]:
    seen = Vault(Path(vault), case["dialect"])
    notes = seen.notes
    links = seen.links()
    result: dict[str, Any] = {
        "notes": list(notes),
        "excluded": [path for path in notes if seen.rules.excluded(path)],
        "links": {path: [] for path in notes},
        "backlinks": _backlinks(links),
        "unresolved": _unresolved(notes, links, seen.rules),
        "tags": {path: list(note.tags) for path, note in notes.items()},
        "aliases": {path: list(note.aliases) for path, note in notes.items()},
        "properties": {path: dict(note.properties) for path, note in notes.items()},
        "frontmatter_error": {
            path: note.frontmatter_error is not None for path, note in notes.items()
        },
        "tasks": {path: [_task(task) for task in note.tasks] for path, note in notes.items()},
        "dates": {path: [_task(task) for task in note.dates] for path, note in notes.items()},
        "unlinked_mentions": {path: seen.mentioning(path) for path in notes},
        "conflicts": _conflicts(seen),
        "not_conflicts": [],
    }
    for source, link, target in links:
        result["links"][source].append(
            {
                "path": link.path,
                "subpath": link.subpath,
                "display": link.display,
                "kind": link.kind,
                "line": link.line,
                "target": target,
            }
        )
    if case["dialect"] == "logseq":
        result |= _logseq(seen, links)
    return result


def set_property(vault: str, file: str, key: str, value: Any) -> None:
    path = Path(vault, file)
    path.write_bytes(edited(path.read_bytes(), key, value))


def _backlinks(links: list[tuple[str, Link, str | None]]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for source, _, target in links:
        if target is not None:
            counts.setdefault(target, Counter())[source] += 1
    return {target: dict(sources) for target, sources in counts.items()}


def _unresolved(
    notes: dict[str, Note], links: list[tuple[str, Link, str | None]], rules: Rules
) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {path: Counter() for path in notes}
    for source, link, target in links:
        if target is None and not (rules.dialect == "logseq" and link.kind == "block"):
            counts[source][_page(rules, link) or link.path] += 1
    return {path: dict(names) for path, names in counts.items()}


def _task(task: Task) -> dict[str, Any]:
    return {**task._asdict(), "depends_on": list(task.depends_on)}


def _conflicts(seen: Vault) -> dict[str, str]:
    if importlib.util.find_spec("vaultmem.core.conflicts") is None:
        return {}
    found: dict[str, str] = importlib.import_module("vaultmem.core.conflicts").conflicts(seen.notes)
    return found


def _page(rules: Any, link: Link) -> str | None:
    """The lower-case page name of a Logseq reference; None in Obsidian."""
    if rules.dialect != "logseq":
        return None
    name: str = rules.reader.page_name(link.key)
    return name


def _logseq(seen: Vault, links: list[tuple[str, Link, str | None]]) -> dict[str, Any]:
    from vaultmem_logseq.masks import masks
    from vaultmem_logseq.names import namespace
    from vaultmem_logseq.outline import outline

    refs: dict[str, set[str]] = {path: set() for path in seen.notes}
    block_refs: dict[str, Any] = {path: {"resolved": {}, "unresolved": []} for path in seen.notes}
    for source, link, target in links:
        if not _PLACEHOLDER.fullmatch(link.key):
            refs[source].add(_page(seen.rules, link) or "")
            continue
        identity = link.key[2:-2]
        if target is None:
            block_refs[source]["unresolved"].append(identity)
        else:
            block_refs[source]["resolved"][identity] = target
    blocks = {}
    for path, text in seen.texts.items():
        body = seen.fronts[path].body
        found = outline(text, masks(text, body).shape, body)
        blocks[path] = [
            {"level": b.level, "text": b.text, "id": b.id, "marker": b.marker}
            for b in found
            if b.level
        ]
    parents: dict[str, list[str]] = {}
    for name in {n for names in refs.values() for n in names} | {
        note.title.lower() for note in seen.notes.values()
    }:
        above = namespace(name)
        while above:
            parents[name] = [above, *parents.get(name, [])]
            above = namespace(above)
    return {
        "pages": {
            path: {
                "title": note.title,
                "namespace": note.namespace,
                "journal": note.journal,
                "aliases": list(note.aliases),
                "tags": list(note.tags),
            }
            for path, note in seen.notes.items()
        },
        "refs": {path: sorted(names) for path, names in refs.items()},
        "block_refs": block_refs,
        "blocks": blocks,
        "block_count": {path: len(found) for path, found in blocks.items()},
        "namespace_parents": parents,
    }
