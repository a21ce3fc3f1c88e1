"""A vault for the doors of tools."""

from pathlib import Path

from hypothesis import strategies as st

from tests.index_dump import synced


def made(vault: Path) -> Path:
    """A vault with an index; each agent has its own."""
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Tea.md").write_text("# Tea\n\nOolong from the hill.\n")
    synced(vault)
    return vault


_WORDS = st.sampled_from([
    "--prompt", "--prompt=", "--prompt=-", "--prompt=tea", "-", "--", "-5", "tea", "--list-tools", "--client", "me",
    "--client=--prompt", "--vault", "--format", "json", "--tea is hot", "-x", "",
])  # fmt: skip
