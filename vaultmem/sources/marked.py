"""A Markdown file with a YAML block that no editor's rules are known for."""

from __future__ import annotations

from vaultmem.adapter import Value
from vaultmem.core.memory import link_targets
from vaultmem.sources import Found
from vaultmem.store import pages

_TITLES = ("title", "name")


def marked(path: str, text: str, kind: str) -> Found:
    """The file with its properties read; a block that cannot be read stays in the text."""
    page = pages.read("frontmatter", text)
    if page.error:
        return Found(path, text, kind=kind)
    given = page.properties
    title = next((str(given[key]) for key in _TITLES if isinstance(given.get(key), str)), "")
    return Found(
        path, page.content, title, names(given.get("tags")), names(given.get("aliases")),
        link_targets(given.get("links")), given, kind,
    )  # fmt: skip


def names(given: Value) -> tuple[str, ...]:
    """A list of names as people write it: a list, or one text with commas."""
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, list):
        return ()
    texts = (str(one).strip().lstrip("#") for one in listed if isinstance(one, (str, int)))
    return tuple(dict.fromkeys(text for text in texts if text))
