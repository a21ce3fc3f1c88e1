"""Who answers to a [[name]]: a living memory, the one that took an archived one's place, something else, or nobody."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from vaultmem.core.memory import Memory
from vaultmem.core.view import Draft

_WIKILINK = re.compile(r"\[\[([^\[\]|#\n]{1,500})([|#][^\[\]\n]{0,500})?\]\]")
_FENCE = re.compile(r"\s*(?:[-*+] )?(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1")
_STEPS = 20  # how often a memory may have been replaced by one that was replaced


def folded(name: str) -> str:
    """A title or a link's target as it is compared: no path, no ending, no case."""
    bare = unicodedata.normalize("NFC", name.strip()).lower()
    return bare.rpartition("/")[2].removesuffix(".md")


class Names:
    """The titles of all memories, as a draft has left them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        everyone = [draft.see(memory) for memory in draft.view.memories()]
        living = [memory for memory in everyone if not memory.archived]
        gone = [memory for memory in everyone if memory.archived]
        self._living = {folded(memory.title): memory for memory in living}
        self._by_id = {memory.id: memory for memory in living}
        self._by_path = {memory.path: memory for memory in living}
        self._gone = {folded(memory.title): memory for memory in [*draft.view.archived(), *gone]}
        self._gone_by_id = {memory.id: memory for memory in self._gone.values()}
        self._targets: dict[str, str | None] = {}

    def living(self, name: str) -> Memory | None:
        """The memory that lives and answers to a name."""
        if "/" not in name and (found := self._living.get(folded(name))):
            return found
        target = self._target(name)
        if target is not None:
            return self._by_path.get(target)
        return self._living.get(folded(name)) if "/" in name else None

    def successor(self, name: str) -> Memory | None:
        """The memory that took the place of the archived one of that name."""
        memory = self._gone.get(folded(name))
        for _ in range(_STEPS):
            if memory is None:
                return None
            after = memory.text("replaced_by")
            if after in self._by_id:
                return self._by_id[after]
            memory = self._gone_by_id.get(after)
        return None

    def is_elsewhere(self, name: str) -> bool:
        """Whether a note answers to the name that is no memory, and not in the archive, or a memory yet to come."""
        if self._draft.is_coming(name.strip()):
            return True
        if folded(name) in self._gone:
            return False
        target = self._target(name)
        return target is not None and target not in self._by_path

    def _target(self, name: str) -> str | None:
        if name not in self._targets:
            self._targets[name] = self._draft.view.target(name)
        return self._targets[name]


def link_to(memory: Memory) -> str:
    """How a memory is linked to; both editors understand it."""
    return f"[[{memory.title}]]"


def retargeted(content: str, old: str, new: str) -> str:
    """The content with its links to one title leading to another; what they show, and code, stay as they are."""
    if "[[" not in content:
        return content
    wanted = folded(old)

    def _link(match: re.Match[str]) -> str:
        return f"[[{new}{match[2] or ''}]]" if folded(match[1]) == wanted else match[0]

    lines, mark = content.split("\n"), ""
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if mark:
            mark = "" if line.strip().startswith(mark) else mark
        elif fence:
            mark = fence[1]
        elif "[[" in line:
            lines[number] = _outside_code(line, _link)
    return "\n".join(lines)


def _outside_code(line: str, link: Callable[[re.Match[str]], str]) -> str:
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(line) if "`" in line else ():
        parts += [_WIKILINK.sub(link, line[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _WIKILINK.sub(link, line[at:])])


class Linkers:
    """Which memories link to which titles, in their content or their property `links`."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._paths: dict[str, dict[str, Memory]] = {}
        for memory in memories:
            self.add(memory)

    def add(self, memory: Memory) -> None:
        """Take in the links of a memory."""
        for name in (*memory.links, *memory.linked):
            self._paths.setdefault(folded(name), {})[memory.path] = memory

    def of(self, title: str) -> list[Memory]:
        """Those that link to a title, by path."""
        return [each for _, each in sorted(self._paths.get(folded(title), {}).items())]
