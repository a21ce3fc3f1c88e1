"""Every link case: what Obsidian and Logseq see in small vaults, and what vaultmem sees."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import link_case_dump

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
    seen = link_case_dump.dump(str(tmp_path), asked) if case["expect"] else {}
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
            link_case_dump.set_property(str(tmp_path), op["file"], op["key"], op["value"])
        assert file.read_bytes() == before
    else:
        link_case_dump.set_property(str(tmp_path), op["file"], op["key"], op["value"])
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
    if key == "blocks":
        assert len(got) == len(wanted)
        for one, other in zip(wanted, got, strict=True):
            _has(other, one, f"{key} of {path}")
        return
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
