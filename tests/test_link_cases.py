"""Every link case: what Obsidian and Logseq see in small vaults, and what vaultmem sees."""

import base64
import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import vaultmem
from tests.conftest import fill
from vaultmem.adapter import Link
from vaultmem.index import catalog_read
from vaultmem.notes.frontmatter import split
from vaultmem.notes.frontmatter_edit import set_property
from vaultmem.vault.files import Root, read
from vaultmem_logseq.outline import outline
from vaultmem_logseq.references import masks

HERE = Path(__file__).parent
CASES = json.loads((HERE / "data" / "link_cases" / "cases.json").read_text("utf-8"))["cases"]
EDITS = [(case, op) for case in CASES for op in case.get("ops", [])]
WITHOUT_CASE = {"tags", "refs", "unresolved"}


class Seen:
    """What vaultmem sees in a vault: a method for each thing that a case may expect of a note."""

    def __init__(self, api: vaultmem.Vault, root: Path, dialect: str) -> None:
        self.api, self.root = api, str(root)
        self.rules: Any = importlib.import_module(f"vaultmem_{dialect}").dialect.open(
            Root(self.root)
        )
        api.sync()
        self.catalog = api.searcher().catalog
        self.notes = {path: api.note(path) for path in api.notes()}

    def links(self, path: str) -> list[dict[str, Any]]:
        """Each link as the dialect reads it, with the target in the catalog."""
        stored = catalog_read.links_from(self.catalog, path)
        pairs = zip(self.notes[path].links, stored, strict=True)
        return [{**link._asdict(), "target": kept.target} for link, kept in pairs]

    def backlinks(self, path: str) -> Counter[str]:
        return Counter(link.source for link in catalog_read.links_to(self.catalog, path))

    def unresolved(self, path: str) -> Counter[str]:
        open_ = [one for one in self.links(path) if one["target"] is None]
        if self.rules.dialect == "logseq":
            return Counter(self._page(one["key"]) for one in open_ if one["kind"] != "block")
        return Counter(one["path"] for one in open_)

    def refs(self, path: str) -> list[str]:
        """The names of the pages to which a page of Logseq refers, each once."""
        keys = {one.key for one in self.notes[path].links if not self._block(one)}
        return [*{self._page(key) for key in keys}]

    def block_refs(self, path: str) -> dict[str, Any]:
        found = [one for one in self.links(path) if one["kind"] == "block"]
        targets = {one["key"][2:-2]: one["target"] for one in found}
        return {
            "resolved": {own: target for own, target in targets.items() if target},
            "unresolved": [own for own, target in targets.items() if not target],
        }

    def blocks(self, path: str) -> list[dict[str, Any]]:
        text = read(self.root, path).text
        body = split(text).body
        found = outline(text, masks(text, body).shape, body)
        return [one._asdict() for one in found if one.level]

    def pages(self, path: str) -> dict[str, Any]:
        note = self.notes[path]
        return {**note._asdict(), "tags": note.properties.get("tags", ())}

    def tasks(self, path: str) -> list[dict[str, Any]]:
        return [{**task._asdict(), "depends_on": [*task.depends_on]} for task in self.notes[path].tasks]  # fmt: skip

    def dates(self, path: str) -> list[dict[str, Any]]:
        return [task._asdict() for task in self.notes[path].dates]

    def unlinked_mentions(self, path: str) -> set[str]:
        return {mention.path for mention in self.api.mentions(path)}

    def conflicts(self, path: str) -> str | None:
        return dict(catalog_read.conflict_pairs(self.catalog)).get(path)

    def frontmatter_error(self, path: str) -> bool:
        return self.notes[path].frontmatter_error is not None

    def _page(self, key: str) -> str:
        """The lower-case name of a page."""
        return self.rules.reader.days.title(key[5:]).lower() if key.startswith("/day/") else key

    def _block(self, link: Link) -> bool:
        return link.key.startswith("((")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        path: content if isinstance(content, str) else base64.b64decode(content["base64"])
        for path, content in case["files"].items()
    }
    fill(tmp_path / "vault", files)
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTMEM_DIALECT", case["dialect"])
    with vaultmem.Vault(str(tmp_path / "vault")) as api:
        seen = Seen(api, tmp_path / "vault", case["dialect"])
        for key, expected in case["expect"].items():
            if key == "notes":
                assert sorted(seen.notes) == sorted(expected)
            elif key == "excluded":
                hidden = {
                    path for path in seen.notes if catalog_read.is_excluded(seen.catalog, path)
                }
                assert hidden == {*expected}
            elif key == "not_conflicts":
                assert not [path for path in expected if seen.conflicts(path)]
            else:
                for path, wanted in expected.items():
                    optional = case.get("optional_tasks", {}).get(path, [])
                    _compare(seen, key, path, wanted, optional)


def _compare(seen: Seen, key: str, path: str, wanted: Any, optional: list[int]) -> None:
    own = key in {"tags", "aliases", "properties"}
    got = getattr(seen.notes[path], key) if own else getattr(seen, key)(path)
    where = f"{key} of {path}"
    if key in {"tasks", "dates"}:
        lines = {each["line"]: each for each in got}
        named = {each["line"] for each in wanted}
        assert key == "dates" or {*lines} - {*optional} <= named <= {*lines}, where
        for each in wanted:
            _has(lines[each["line"]], each, where)
    elif key in {"links", "blocks"}:
        for one, other in zip(got, wanted, strict=True):
            _has(one, other, where)
    elif key == "properties":
        assert wanted or not got, where
        _has(got, wanted, where)
    elif key in {"pages", "block_refs"}:
        _has_page(got, wanted, where)
    elif isinstance(wanted, dict):
        assert _counts(key, got) == _counts(key, wanted), where
    elif isinstance(wanted, list):
        assert sorted(_counts(key, got)) == sorted(_counts(key, wanted)), where
    else:
        assert got == wanted, where


def _has_page(got: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
    for name, value in wanted.items():
        is_list = isinstance(value, list)
        assert sorted(got[name]) == sorted(value) if is_list else got[name] == value, where
    assert "journal" in wanted or not got.get("journal"), where


def _has(got: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
    for name, value in wanted.items():
        found = got.get(name)
        if value is None:
            assert not found, f"{where}: {name} is {found!r}"
        else:
            assert (type(found), found) == (type(value), value), f"{where}: {name}"


def _counts(key: str, names: Any) -> Counter[str]:
    """How often each name occurs."""
    merged: Counter[str] = Counter()
    for name in names:
        number = names[name] if isinstance(names, dict) else 1
        merged[name.lower() if key in WITHOUT_CASE else name] += number
    return merged


@pytest.mark.parametrize(("case", "op"), EDITS, ids=lambda v: v.get("id") or v.get("key"))
def test_edit(case: dict[str, Any], op: dict[str, Any]) -> None:
    assert set_property(case["files"][op["file"]], op["key"], op["value"]) == op["after"]
