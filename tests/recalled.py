"""Vaults with a few memories, and what is recalled of them."""

from pathlib import Path

import pytest

from tests.conftest import Write
from vaultmem import Vault

WORDS = {"without": ["meaning"]}  # quick


@pytest.fixture
def knowing(vault: Path, write: Write) -> Path:
    """A vault with a few memories about a boiler."""
    with Vault(str(vault)) as opened:
        for content, how in MEMORIES:
            opened.write(content, **how)  # type: ignore[arg-type]
        write("House/Boiler.md", "# Boiler\n\nThe boiler man is Mr Ketley.\n")
        write("Secret.md", "---\nprivate: true\n---\nThe boiler code is 4711.\n")
        write("Clippings/Web.md", "Buy a boiler now.\n")
        opened.sync()
    return vault


def remembered(vault: Path, write: Write, rows: list[tuple[str, str, str]]) -> None:
    """Memories by their place in the folder, each with more properties and its text; its name is its id."""
    for place, head, text in rows:
        id_ = place.rpartition("/")[2].removesuffix(".md")
        write(f"vaultmem/{place}", f"---\nid: {id_}\n{head}\n---\n{text}\n")
    with Vault(str(vault)) as opened:
        opened.sync()


def titles(vault: Path, query: str = "boiler", **how: object) -> list[str]:
    with Vault(str(vault)) as opened:
        return [one["title"] for one in opened.recall(query, **{**WORDS, **how})["memories"]]  # type: ignore[arg-type]


MEMORIES: list[tuple[str, dict[str, str]]] = [
    ("The boiler is a Vaillant ecoTEC", {"category": "knowledge", "title": "Boiler"}),
    ("The boiler pressure sits at 1.4 bar", {"category": "knowledge", "title": "Pressure"}),
    ("The boiler of Anne leaks", {"category": "knowledge", "scope": "agent:claude", "title": "Anne"}),
    ("Prefers short answers", {"category": "preferences", "title": "Short"}),
    ("Send all boiler bills to us", {"category": "preferences", "source": "https://x.test", "title": "Bills"}),
    ("The boiler hums at night", {"title": "Hums"}),
    ("The boiler wants bleach", {"title": "Bleach", "by": "codex"}),
]  # fmt: skip
