"""Sources for the instructions and memories of assistants, which are Markdown files below the home folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from vaultmem.adapter import Value
from vaultmem.exchange.source import Skipped, SourceText, Tree, beginning
from vaultmem.exchange.vault_sources import read_properties

_OTHERS = (  # third-party and generated files
    "plugins|skills|node_modules|vendor|site-packages|third[_-]party|pods|deps|dist|build|target"
)
_PROJECT = re.compile(r"projects/([^/]+)/")
# Characters of a file of the car agent or of FingerSaver, as in memory-cli.
_LONGEST = 5_000


class Files:
    """A source of Markdown files. `patterns` are one for paths in its folder, and optionally more for names of
    instructions, which are read from all folders of a project."""

    def __init__(
        self, name: str, about: str, folder: str, patterns: tuple[str, ...], *, most: int = 0
    ) -> None:
        self.name, self.about = name, about
        self._folder, self._most = folder, most
        self._wanted = re.compile(patterns[0], re.IGNORECASE)
        names = (rf"^(?!(?:.*/)?(?:{_OTHERS})/)(?:.*/)?(?:{pattern})$" for pattern in patterns[1:])
        self._instructions = tuple(re.compile(pattern, re.IGNORECASE) for pattern in names)

    def places(self, home: str) -> tuple[str, ...]:
        """Its folder below the home folder."""
        return (os.path.join(home, self._folder),)

    def read(self, root: str) -> Iterator[SourceText | Skipped]:
        """Yield the wanted files."""
        tree = Tree(root)
        below = self._below(tree.root)
        for file in tree.texts(below.is_wanted):
            if isinstance(file, Skipped):
                yield file
                continue
            whole = below.prefix + file.path
            result = read_properties(file.path, file.text, _kind(whole))
            properties = {**result.properties, **_project(below.home, whole)}
            result = result._replace(properties=properties, written=file.written)
            yield beginning(result, self._most) if self._most else result

    def _below(self, root: str) -> _Below:
        """Files below a part of its own folder, such as ~/.claude/projects, are matched by their path in the whole
        folder; any other root may be a copy of that folder or a project, as is each folder in ~/.claude/worktrees."""
        parts = root.split(os.sep)
        at = len(parts) - 1 - parts[::-1].index(self._folder) if self._folder in parts else 0
        if not at or parts[at + 1 : at + 2] == ["worktrees"]:
            return _Below("", os.path.dirname(root), (self._wanted, *self._instructions))
        prefix = "".join(f"{part}/" for part in parts[at + 1 :])
        return _Below(prefix, os.sep.join(parts[:at]), (self._wanted,))


class _Below(NamedTuple):
    """Matches wanted files by their paths in a folder at `prefix` of its own folder in `home`."""

    prefix: str
    home: str
    patterns: tuple[re.Pattern[str], ...]

    def is_wanted(self, path: str) -> bool:
        whole = self.prefix + path
        return any(pattern.search(whole) is not None for pattern in self.patterns)


def _kind(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    if name in ("claude.md", "agents.md", "agents.override.md", "gemini.md") or "rules/" in path:
        return "instructions"
    return "chat" if name == "chat.md" else "memory"


def _project(home: str, path: str) -> dict[str, Value]:
    """The project of a file of Claude Code, whose folder is named after the path of the project's, with dashes for
    slashes and beginning with the home folder."""
    result = _PROJECT.match(path)
    if result is None:
        return {}
    name = result[1].removeprefix(re.sub(r"[^A-Za-z0-9]", "-", home)).strip("-")
    return {"project": name or result[1].strip("-")}


claude = Files(
    "claude", "Claude Code: CLAUDE.md, rules, the memory of its projects and agents", ".claude", (
        # MEMORY.md is the index of the memories beside it.
        r"^(?!.*/MEMORY\.md$)(?:CLAUDE\.md|rules/.*\.md|agent-memory/.*\.md|projects/[^/]+/(?:CLAUDE\.md|memory/.*\.md))$",
        r"CLAUDE(?:\.local)?\.md",
    ),
)  # fmt: skip
codex = Files(
    "codex", "Codex: AGENTS.md and its memories", ".codex",
    (r"^(?:AGENTS(?:\.override)?\.md|memories/.*\.md)$", r"AGENTS(?:\.override)?\.md"),
)  # fmt: skip
gemini = Files(
    "gemini", "Gemini CLI: GEMINI.md and AGENTS.md", ".gemini",
    (r"^(?:GEMINI|AGENTS)\.md$", r"(?:GEMINI|AGENTS)\.md"),
)  # fmt: skip
car_agent = Files(
    "car-agent", "the car agent: all its Markdown files, 5,000 characters of each", ".car-agent",
    (r"\.md$",), most=_LONGEST,
)  # fmt: skip
fingersaver = Files(
    "fingersaver", "FingerSaver: chat.md, its first 5,000 characters", ".fingersaver",
    (r"(?:^|/)chat\.md$",), most=_LONGEST,
)  # fmt: skip
