"""Another vault to ingest, and the results."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import Ran, on
from tests.conftest import fill
from vaultmem.notes import pages

LONG = "\n\n".join(
    f"On day {n} Anne Miller of Lisbon decided to use Postgres {n} for the billing of customer {n}, "
    f"because MySQL had lost {n} rows in the night, and she prefers tools that keep what they are given. "
    f"The migration of table {n} took {n} hours, and nobody but Reto Frei noticed that port 54{n:02} was open."
    for n in range(10, 22)
)

NOTES = {
    ".obsidian/app.json": "{}",
    "Tea.md": "---\naliases: [Green tea]\ntags: [drink]\nup: '[[Drinks]]'\nprivate: true\nid: evil\nagent: \nphase: organized\n---\nGood with [[Anne]].\n",
    "Anne.md": "Anne is my sister. She lives in Lisbon.\n",
    "deep/er/Long.md": f"---\naliases: [The long one]\n---\n{LONG}\n",
    "Wifi.md": "The guest network.\n\npassword: Tr0mbone-77\n",
    "Twice.md": "Anne is my sister. She lives in Lisbon.\n",
    "Empty.md": "---\ncssclasses: [wide]\n---\n\n",
    "猫.md": "猫喜欢喝牛奶。\n",
}  # fmt: skip


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another vault."""
    return fill(tmp_path / "other", NOTES)


def memories(vault: Path) -> dict[str, tuple[dict[str, Any], str]]:
    """The properties and content of all memories, by path."""
    found = {}
    # not the pages generated from them
    for path in sorted((vault / "vaultmem").glob("*/**/*.md")):
        text = path.read_text()
        page = pages.read("frontmatter", text)
        found[path.relative_to(vault / "vaultmem").as_posix()] = (page.properties, page.content)
    return found


def command(vault: Path, *words: str) -> Ran:
    return on(vault, "ingest", *words)
