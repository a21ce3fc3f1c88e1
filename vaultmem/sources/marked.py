"""What properties say of a text: of a Markdown file that no editor's rules are known for, of a page of nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vaultmem.adapter import Value
from vaultmem.core.memory import link_targets
from vaultmem.sources import Found
from vaultmem.store import pages

_TITLES = ("title", "name")
_DESCRIPTIONS = ("description", "summary", "abstract")
_OF_THE_FILE = re.compile(  # properties that editors and plugins keep for themselves
    r"id|uuid|uid|title|name|collapsed|icon|banner|cover|css-?class(?:es)?|class|public|publish|private|permalink|filters"
    r"|exclude-from-graph-view|heading|background-color|template(?:-.*)?|.*\.order-list-type|hl-.*|file(?:-path)?"
    r"|position|(?:date-?)?(?:created|updated|modified|changed)(?:[-_ ]?(?:at|on|time|date))?|mtime|ctime",
    re.IGNORECASE,
)


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


def said_by(title: str, properties: Mapping[str, Value]) -> str:
    """A page with properties and no text, as text: its title, its description, all else line by line; "" where they say
    nothing but when it was made or how it looks."""
    told = {
        key: _shown(value) for key, value in properties.items() if not _OF_THE_FILE.fullmatch(key)
    }
    told = {key: value for key, value in told.items() if value}
    if not told:
        return ""
    described = [told.pop(key) for key in _DESCRIPTIONS if key in told]
    first = ": ".join([title, *described[:1]]) if title else "".join(described[:1])
    lines = [first, *described[1:], *(f"{key}: {value}" for key, value in told.items())]
    return "\n".join(line for line in lines if line)


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(shown for one in value if (shown := _shown(one)))
    return " ".join(str(value).split()) if isinstance(value, (str, int, float)) else ""


def names(given: Value) -> tuple[str, ...]:
    """A list of names as people write it: a list, or one text with commas."""
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, list):
        return ()
    texts = (str(one).strip().lstrip("#") for one in listed if isinstance(one, (str, int)))
    return tuple(dict.fromkeys(text for text in texts if text))
