"""An open vault of memories, and the contents of its files."""

from pathlib import Path

from vaultmem.vault.identity import MARKER

FACTS = (
    "User prefers dark mode in every editor", "We decided to use Postgres for billing instead of MySQL",
    "Anne's birthday is 3 May", "Lesson learned: never deploy on a Friday afternoon", "我喜欢喝绿茶，不喜欢咖啡",
)  # fmt: skip


def files(root: Path, below: str = "") -> dict[str, bytes]:
    """All files of a vault by path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted((root / below).rglob("*"))
        if path.is_file() and path.name != MARKER
    }
