"""What goes wrong, as a client of the tools is told: it can call tools and type nothing."""

from __future__ import annotations

import re

from vaultmem.api.verbs import every

# What these commands do, a tool does too.
_COMMAND = re.compile(
    rf"\bvaultmem ({'|'.join(name for name, one in every().items() if one.tool)})\b(?! --)"
)
# An option is a parameter of the tool, but for that of a command, which somebody is to type as it stands.
_OPTION = re.compile(
    r"\bvaultmem [a-z]+(?: (?!--)\S+){0,2} --[a-z-]+|(?<![\w'\"-])--([a-z][a-z-]+)"
)
# For these a person is needed anyway, and has to be told what to type.
_OF_PERSON = re.compile(r"\bvaultmem (?:approve|doctor|history|restart|review|start|sync|undo)\b")
_TYPED = re.compile(r"\bvaultmem [a-z]+\b")


def for_tools(said: str) -> str:
    """A message without what only somebody at a command line could do."""
    first, *advice = " ".join(said.split()).split("; ")
    kept = [first, *(one for one in map(_called, advice) if not _is_typed(one))]
    return _OPTION.sub(_parameter, "; ".join(kept))


def _parameter(found: re.Match[str]) -> str:
    return f'"{found[1].replace("-", "_")}"' if found[1] else found[0]


def _called(advice: str) -> str:
    return _COMMAND.sub(r"memory_\1", advice)


def _is_typed(advice: str) -> bool:
    return bool(_TYPED.search(advice)) and not _OF_PERSON.search(advice)
