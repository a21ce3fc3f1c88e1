"""What assistants keep for themselves: their instructions and memories, as Markdown files in a folder of the home."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from vaultmem.adapter import Value
from vaultmem.sources import NOTHING, Apart, Found, Passed
from vaultmem.sources.marked import marked
from vaultmem.sources.tree import Tree, beginning

_PROJECT = re.compile(r"projects/([^/]+)/")
_LONGEST = (
    5_000  # characters of a file of the car agent or of FingerSaver, as memory-cli takes them
)


class Files:
    """A source of Markdown files, of which a pattern tells the wanted ones."""

    def __init__(self, name: str, about: str, folder: str, wanted: str, *, most: int = 0) -> None:
        self.name, self.about = name, about
        self._folder, self._wanted, self._most = folder, re.compile(wanted, re.IGNORECASE), most

    def places(self, home: str) -> tuple[str, ...]:
        """Its folder in the home."""
        return (os.path.join(home, self._folder),)

    def found(self, root: str, apart: Apart = NOTHING) -> Iterator[Found | Passed]:
        """The wanted files."""
        for each in Tree(root, apart).texts(self._wanted):
            if isinstance(each, Passed):
                yield each
                continue
            found = marked(each.path, each.text, _kind(each.path))
            found = found._replace(properties={**found.properties, **_project(root, each.path)})
            yield beginning(found, self._most) if self._most else found


def _kind(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    if name in ("claude.md", "agents.md", "agents.override.md", "gemini.md") or "rules/" in path:
        return "instructions"
    return "chat" if name == "chat.md" else "memory"


def _project(root: str, path: str) -> dict[str, Value]:
    """The project that a file of Claude Code belongs to: its folder there is called after the project's, with dashes
    for slashes; what is before is the home of whoever keeps it."""
    found = _PROJECT.match(path)
    if found is None:
        return {}
    home = re.sub(r"[^A-Za-z0-9]", "-", os.path.dirname(os.path.realpath(root)))
    name = found[1].removeprefix(home).strip("-")
    return {"project": name or found[1].strip("-")}


claude = Files(
    "claude", "Claude Code: CLAUDE.md, rules, the memory of its projects and agents", ".claude",
    r"^(?:CLAUDE\.md|rules/.*\.md|agent-memory/.*\.md|projects/[^/]+/(?:CLAUDE\.md|memory/.*\.md))$",
)  # fmt: skip
codex = Files(
    "codex", "Codex: AGENTS.md and its memories", ".codex",
    r"^(?:AGENTS(?:\.override)?\.md|memories/.*\.md)$",
)  # fmt: skip
gemini = Files(
    "gemini", "Gemini CLI: GEMINI.md and AGENTS.md", ".gemini", r"^(?:GEMINI|AGENTS)\.md$"
)
car_agent = Files(
    "car-agent", "the car agent: all its Markdown files, 5,000 characters of each", ".car-agent",
    r"\.md$", most=_LONGEST,
)  # fmt: skip
fingersaver = Files(
    "fingersaver", "FingerSaver: chat.md, its first 5,000 characters", ".fingersaver",
    r"(?:^|/)chat\.md$", most=_LONGEST,
)  # fmt: skip
