"""Front matter: the YAML block at the top of a note, found as the editors do and read as YAML 1.2.

The only module that imports python-frontmatter, and only to compose a new note.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from vaultmem.adapter import FrontMatter
from vaultmem.vault.yaml12 import LIMIT, UnreadableError, read
from vaultmem.vault.yaml_lines import simple, written_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from frontmatter.default_handlers import BaseHandler

    from vaultmem.adapter import Value

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\r?\Z)", re.MULTILINE)


class Block(NamedTuple):
    """Where front matter stands in a text (offsets)."""

    start: int  # of the first line after the opening dashes
    end: int  # of the closing line
    body: int  # of the first character after the closing line


def locate(text: str) -> Block | None:
    """Find the front matter of a text with any line ends, with or without a byte order mark."""
    if not text.startswith(("---", "\ufeff---")):
        return None
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    return Block(opening.end(), closing.start(), closing.end()) if closing else None


PLACEHOLDER = "holds {{placeholders}}, as templates do"


def split(text: str) -> FrontMatter:
    """Read the properties of a note. Never raises; what cannot be read gives an error line."""
    block = locate(text)
    if block is None:
        return FrontMatter({}, None, 0)
    source = text[block.start : block.end]
    if len(source) > LIMIT:
        return FrontMatter({}, f"longer than {LIMIT} characters", block.body)
    properties = simple(source)
    if properties is not None:
        return FrontMatter(properties, None, block.body)
    try:
        return FrontMatter(read(source).properties, None, block.body)
    except UnreadableError as error:
        template = "{{" in source or "<%" in source
        reason = f"{PLACEHOLDER} ({error})" if template else str(error)
        return FrontMatter({}, reason, block.body)


def compose(properties: Mapping[str, Value], body: str) -> str:
    """A new note: the properties in their order, then the body as it is."""
    import frontmatter

    post = frontmatter.Post("")
    post.metadata.update(properties)
    return f"{frontmatter.dumps(post, handler=_handler())}\n{body}"


@cache
def _handler() -> BaseHandler:
    """python-frontmatter's frame around our own lines: PyYAML's are made for YAML 1.1."""
    from frontmatter.default_handlers import YAMLHandler

    class Handler(YAMLHandler):
        def export(self, metadata: dict[str, object], **_options: object) -> str:
            properties = cast("dict[str, Value]", metadata)
            return "\n".join(line for item in properties.items() for line in written_lines(*item))

    return Handler()
