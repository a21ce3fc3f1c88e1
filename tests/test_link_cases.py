"""Every link case: what Obsidian and Logseq see in small vaults, and what vaultmem sees."""

import base64
import importlib
import json
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import vaultmem
from vaultmem.adapter import Link, Note, Rules, Task
from vaultmem.index import catalog_read
from vaultmem.notes.frontmatter import split
from vaultmem.notes.frontmatter_edit import set_property as edited
from vaultmem.vault.files import Root, read

_PLACEHOLDER = re.compile(r"\(\(.*\)\)")


class Vault:
    """A folder indexed by vaultmem, and its catalog's answers."""

    def __init__(self, root: str, dialect: str) -> None:
        self.api = vaultmem.Vault(root)
        self.rules: Rules = importlib.import_module(f"vaultmem_{dialect}").dialect.open(Root(root))
        self.api.sync()
        self.catalog = self.api.searcher().catalog
        self.notes: dict[str, Note] = {path: self.api.note(path) for path in self.api.notes()}
        self.texts = {path: read(root, path).text for path in self.notes}

    def links(self) -> list[tuple[str, Link, str | None]]:
        """Each link as the dialect reads it, with the target the catalog holds."""
        found = []
        for source, note in self.notes.items():
            stored = catalog_read.links_from(self.catalog, source)
            found += [
                (source, link, kept.target) for link, kept in zip(note.links, stored, strict=True)
            ]
        return found

    def backlinks(self) -> dict[str, dict[str, int]]:
        """How often each note links to each file."""
        files = [row[0] for row in self.catalog.db.execute("SELECT path FROM files")]
        views = {path: catalog_read.links_to(self.catalog, path) for path in files}
        return {path: dict(Counter(link.source for link in links)) for path, links in views.items()}

    def excluded(self) -> list[str]:
        return [path for path in self.notes if catalog_read.is_excluded(self.catalog, path)]

    def mentioning(self, path: str) -> list[str]:
        return sorted({mention.path for mention in self.api.mentions(path)})


def dump(vault: str, case: dict[str, Any]) -> dict[str, Any]:
    """Index the folder with its own state and return what vaultmem knows about it."""
    with tempfile.TemporaryDirectory() as state:
        chosen = {"VAULTMEM_STATE": state, "VAULTMEM_DIALECT": case["dialect"]}
        with mock.patch.dict(os.environ, chosen):
            seen = Vault(vault, case["dialect"])
            try:
                return _dump(seen, case)
            finally:
                seen.api.close()


def _dump(seen: Vault, case: dict[str, Any]) -> dict[str, Any]:
    notes = seen.notes
    links = seen.links()
    result: dict[str, Any] = {
        "notes": list(notes),
        "excluded": seen.excluded(),
        "links": {path: [] for path in notes},
        "backlinks": seen.backlinks(),
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
        "conflicts": dict(catalog_read.conflict_pairs(seen.catalog)),
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
    path.write_bytes(edited(path.read_bytes().decode(), key, value).encode())


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


def _page(rules: Any, link: Link) -> str | None:
    """The lower-case page name of a Logseq reference; None in Obsidian."""
    if rules.dialect != "logseq":
        return None
    key = link.key
    name: str = rules.reader.days.title(key[5:]).lower() if key.startswith("/day/") else key
    return name


def _logseq(seen: Vault, links: list[tuple[str, Link, str | None]]) -> dict[str, Any]:
    from vaultmem_logseq.names import namespace
    from vaultmem_logseq.outline import outline
    from vaultmem_logseq.references import masks

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
        body = split(text).body
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
                "tags": list(note.properties.get("tags", ())),
            }
            for path, note in seen.notes.items()
        },
        "refs": {path: sorted(names) for path, names in refs.items()},
        "block_refs": block_refs,
        "blocks": blocks,
        "block_count": {path: len(found) for path, found in blocks.items()},
        "namespace_parents": parents,
    }


HERE = Path(__file__).parent
CASES = json.loads((HERE / "data" / "link_cases" / "cases.json").read_text("utf-8"))["cases"]
AS_A_SET = {"notes", "excluded"}
SETS_BY_PATH = {"tags", "aliases", "unlinked_mentions", "refs"}
WITHOUT_CASE = {"tags", "refs", "unresolved"}


def _write(files: dict[str, Any], root: Path) -> None:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        written = content if isinstance(content, str) else base64.b64decode(content["base64"])
        file.write_bytes(written.encode() if isinstance(written, str) else written)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    _write(case["files"], tmp_path)
    asked = {key: value for key, value in case.items() if key not in {"files", "expect", "ops"}}
    seen = dump(str(tmp_path), asked) if case["expect"] else {}
    for key, expected in case["expect"].items():
        if key == "not_conflicts":
            assert not set(expected) & set(seen["conflicts"])
        elif key in AS_A_SET:
            assert sorted(seen[key]) == sorted(expected)
        else:
            for path, wanted in expected.items():
                _compare(key, path, wanted, seen[key].get(path), case)


EDITS = [(case, op) for case in CASES for op in case.get("ops", [])]


@pytest.mark.parametrize(("case", "op"), EDITS, ids=lambda v: v.get("id") or v.get("key"))
def test_edit(case: dict[str, Any], op: dict[str, Any], tmp_path: Path) -> None:
    _write(case["files"], tmp_path)
    file = tmp_path / op["file"]
    before = file.read_bytes()
    if op.get("error"):
        with pytest.raises(Exception, match=r"\w"):
            set_property(str(tmp_path), op["file"], op["key"], op["value"])
        assert file.read_bytes() == before
    else:
        set_property(str(tmp_path), op["file"], op["key"], op["value"])
        assert file.read_bytes() == op["after"].encode()


def _compare(key: str, path: str, wanted: Any, got: Any, case: dict[str, Any]) -> None:
    where = f"{key} of {path}"
    if key in {"tasks", "dates"}:
        _compare_lines(key, path, wanted, got or [], case)
    elif key in {"links", "blocks"}:
        assert len(got or []) == len(wanted), where
        for one, other in zip(wanted, got or [], strict=True):
            _has(other, one, where)
    elif key in {"backlinks", "unresolved"} and isinstance(wanted, dict):
        assert _counts(key, got or {}) == _counts(key, wanted), where
    elif key in SETS_BY_PATH or key in {"backlinks", "unresolved"}:
        assert _names(key, got or []) == _names(key, wanted), where
    elif key == "properties":
        assert wanted or not got, where
        _has(got, wanted, where)
    elif key in {"pages", "block_refs"}:
        _compare_page(wanted, got, where)
    else:
        assert got == wanted, where


def _compare_page(wanted: dict[str, Any], got: dict[str, Any] | None, where: str) -> None:
    assert got is not None, where
    for name, value in wanted.items():
        found = got[name]
        same = sorted(found) == sorted(value) if isinstance(value, list) else found == value
        assert same, f"{where}: {name} is {found!r}"
    assert "journal" in wanted or not got.get("journal"), where


def _compare_lines(
    key: str,
    path: str,
    wanted: list[dict[str, Any]],
    got: list[dict[str, Any]],
    case: dict[str, Any],
) -> None:
    lines = {each["line"] for each in wanted}
    optional = set(case.get("optional_tasks", {}).get(path, [])) - lines
    by_line = {each["line"]: each for each in got if each["line"] not in optional}
    if key == "tasks":
        assert set(by_line) == lines
    for each in wanted:
        _has(by_line[each["line"]], each, f"{key} of {path}, line {each['line']}")


def _has(got: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
    for name, value in wanted.items():
        found = got.get(name)
        if value is None:
            assert not found, f"{where}: {name} is {found!r}"
        else:
            assert (type(found), found) == (type(value), value), f"{where}: {name}"


def _names(key: str, names: Any) -> list[str]:
    return sorted(name.lower() if key in WITHOUT_CASE else name for name in names)


def _counts(key: str, counts: dict[str, int]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for name, number in counts.items():
        merged[name.lower() if key in WITHOUT_CASE else name] += number
    return merged
