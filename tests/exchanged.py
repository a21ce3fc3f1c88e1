"""Vaults between which memories are exported and imported."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.cli_run import Ran, ran
from tests.conftest import fill
from vaultmem import Vault
from vaultmem.notes.places import GENERATED
from vaultmem.vault.identity import MARKER
from vaultmem.vault.moves import TEMP_PREFIX

KINDS = ("obsidian", "logseq")
FULL = """---
id: full-1
phase: organized
category: people
scope: user:anne
tags: [one, two]
source: https://example.org
importance: 0.71
created_at: 2026-01-02T03:04:05Z
updated_at: 2026-02-02T03:04:05Z
mine: {a: [1, 2.5, null, true], "é": "中文"}
---
# A title

Text with [[Link]] and 🌲.
"""


def made(folder: Path, kind: str = "obsidian") -> Path:
    """An empty vault."""
    own = {"obsidian": ".obsidian/app.json", "logseq": "logseq/config.edn"}
    return fill(folder, {own[kind]: "{}\n"})


def memories_of(vault: Path) -> Path:
    return vault / Vault(str(vault)).config.text("memory_folder")


def put(vault: Path, files: dict[str, bytes]) -> None:
    fill(memories_of(vault), files)


def notes(vault: Path) -> dict[str, bytes]:
    """All files of the memory folder except generated ones, which an agent may be writing."""
    root = memories_of(vault)
    there = (file for file in root.rglob("*") if not file.name.startswith(TEMP_PREFIX))
    found = {str(file.relative_to(root)): file.read_bytes() for file in there if file.is_file()}
    made = {*GENERATED, MARKER, "Memories.base", "Pending.base"}
    return {name: data for name, data in found.items() if name not in made}


def on(vault: Path, *words: str, stdin: bytes = b"") -> Ran:
    shape = () if {"text", "export"} & {*words} else ("--json",)
    return ran(words[0], "--vault", str(vault), *shape, *words[1:], stdin=stdin)


def exported(vault: Path, *more: str) -> str:
    ended = on(vault, "export", *more)
    assert ended.code == 0, ended.err
    return ended.out


def took(vault: Path, lines: str | bytes, *more: str, code: int = 0) -> Any:
    """The report of an import from stdin."""
    ended = on(
        vault, "import", "-", *more, stdin=lines.encode() if isinstance(lines, str) else lines
    )
    assert ended.code == code, (ended.out, ended.err)
    assert "Traceback" not in ended.err
    return ended.data


def line(
    own: str = "one", path: str = "knowledge/One.md", content: str = "Text.", **more: Any
) -> str:
    """A line in our shape."""
    said = {
        "id": own,
        "path": path,
        "archived": False,
        "properties": {"id": own},
        "content": content,
        **more,
    }
    return json.dumps(said) + "\n"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc é:-", min_size=1, max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
