"""Who may see what, and whose words may be quoted without approval: the one rule behind every door. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from vaultmem.text.values import (
    EVERYBODY,
    TYPE_CHECKING,
    is_yes,
    lazy,
    value,
)

if TYPE_CHECKING:
    from vaultmem.adapter import Properties

SCOPE = lazy(r"global|(?:agent|conversation|user):[^\s:][^\n]{0,199}")
_AGENT, _NAMED = "agent:", ("conversation:", "user:")
DREAM = "dream"  # the property `source` of memories made by dreams
# Programs that run assistants, and the two whose memories can be imported; vaultmem connect supports the first.
KNOWN_ASSISTANTS = (
    "claude", "codex", "gemini", "copilot", "cursor", "opencode", "car-agent", "fingersaver"
)  # fmt: skip
UNKNOWN = frozenset(("", "assistant", "mcp", "unknown"))  # names of clients without a name
PRIVATE, OTHER_SCOPE = "private", "of another scope"  # reasons
CONNECTED, OWN, ALL = TRUST = ("connected", "own", "all")  # the setting recall.trust


@value
class Viewer:
    """The caller of a request, and the conversations and users that it names."""

    name: str = ""  # "" for the person
    also: frozenset[str] = frozenset()

    @property
    def scope(self) -> str:
        """Their own scope; for the person, who needs none, the global one."""
        if not self.name:
            return EVERYBODY
        return self.name if self.name.startswith(_NAMED) else f"{_AGENT}{self.name}"

    def sees(self, scope: str) -> bool:
        """Whether they may see this scope."""
        if not self.name or scope in (EVERYBODY, self.name) or scope in self.also:
            return True
        return scope.startswith(_AGENT) and is_same(scope.removeprefix(_AGENT), self.name)


PERSON = Viewer()
ANYBODY = Viewer("an assistant that wrote nothing")
PERSON_NAMES = ("you", "person")  # the person's name in the history; no assistant's


@value
class Origin:
    """The origin of a memory."""

    writer: str = ""  # the assistant that wrote it; "" for the person
    outside: bool = False  # from the web, or from another program


def viewer(by: str, scopes: Iterable[str] = ()) -> Viewer:
    """The viewer with a name. Scopes of other assistants in the request grant nothing."""
    return Viewer(by, frozenset(scope for scope in scopes if scope.startswith(_NAMED)))


def hidden(properties: Properties, to: Viewer, *, memory: bool) -> str:
    """Why `to` may not see a note with these properties; "" if it may. The person may see everything."""
    if not to.name:
        return ""

    return reason(scope_of(properties, memory=memory), to, private=is_private(properties))


def hidden_now(text: str, to: Viewer, *, memory: bool) -> str:
    """Like hidden(), from the text of a note as it is now, which the index may not know yet without an agent."""
    return hidden(marks(text), to, memory=memory) if to.name else ""


# A mark outside front matter, and those that vaultmem writes into it, which need no parser. Front matter with one of
# these words elsewhere, or with an escape, which may spell one, needs it: `? private # mine`, `"priv\u0061te"`.
_MARKED = lazy(r"(?i)(?:private|scope)[\s\"']*[:=]")
_WORD = lazy(r"(?i)private|scope|\\")
_FRONT = lazy(r"(?ms)\ufeff?---[ \t]*\r?\n.*?^---[ \t]*\r?$")
_WRITTEN = lazy(r"(?m)^(scope|private): (global|(?:agent|conversation|user):[\w-]+|true|false)\n")
_ORG = lazy(r"(?im)^(?:#\+|[ \t]*:)scope:[ \t]+(\S+)")


def marks(text: str) -> Properties:
    """The scope and privacy of a note, from its text. Only one with other marks than vaultmem writes is parsed: a
    start-up hook has no time for that."""
    front = _FRONT.match(text) if text.startswith(("---", "\ufeff---")) else None
    end, low = front.end() if front else 0, text.lower()
    if not ("scope" in low or "private" in low or "\\" in text[:end]):
        return {}
    written = _WRITTEN.findall(text, 0, end)
    properties: Properties = dict(written)
    is_twice = len(properties) < len(written)  # no parser accepts that
    rest = _WRITTEN.sub("", text[:end])
    if not (is_twice or _WORD.search(rest) or _MARKED.search(text, end)):
        return properties
    from vaultmem.notes import pages
    from vaultmem.notes.places import OUTLINE

    plain = text.removeprefix("\ufeff")
    readings = [pages.read(style, plain).properties for style in ("", OUTLINE)]
    readings += [{"scope": str(scope)} for scope in _ORG.findall(plain)]
    scopes = {scope_of(one, memory=True) for one in readings} - {EVERYBODY}
    is_clear = len(scopes) < 2 and not any(map(is_private, readings))
    return {"scope": min(scopes, default=EVERYBODY), "private": not is_clear}


def reason(scope: str, to: Viewer, *, private: bool) -> str:
    """Like hidden(), given the scope and whether it is private."""
    if private and to.name:
        return PRIVATE
    return "" if to.sees(scope) else OTHER_SCOPE


def scope_of(properties: Properties, *, memory: bool) -> str:
    """The scope of a note. An unknown value hides a memory from all assistants; in other notes it restricts nothing."""
    from vaultmem.notes.places import key_of  # not needed by a start-up hook

    raw = next((one for key, one in properties.items() if key_of(key) == "scope"), None)
    scope = raw.strip() if isinstance(raw, str) else ""
    return scope if scope and (memory or SCOPE.fullmatch(scope)) else EVERYBODY


@lru_cache(256)
def canonical_name(name: str) -> str:
    """One name per assistant, however its program spells it: Claude Code says claude-code."""
    if name.startswith(_NAMED):
        return name
    folded = re.sub(r"[\W_]+", "-", name.lower()).strip("-").removeprefix("github-")
    return next(
        (assistant for assistant in KNOWN_ASSISTANTS if f"{folded}-".startswith(f"{assistant}-")),
        name.lower().strip(),
    )


def names_person(name: str) -> bool:
    """Whether it reads as the person's name, or as no name, ignoring invisible characters."""
    from vaultmem.text.sanitize import without_invisible  # not needed for reading

    return without_invisible(name).strip().lower() in ("", *PERSON_NAMES)


def is_same(one: str, other: str) -> bool:
    """Whether two names mean the same assistant."""
    return one == other or canonical_name(one) == canonical_name(other)


def origin(properties: Properties) -> Origin:
    """The origin of a memory, from properties in our spelling. An assistant's name as source means the writer, unless
    it was ingested from a file of that program, which anyone may have written, such as a project's owner."""
    source, agent = properties.get("source"), properties.get("agent")
    writer = agent if isinstance(agent, str) else "unknown" if agent else ""
    is_ingested = bool(properties.get("source_path"))
    named = source if isinstance(source, str) and not is_ingested else ""
    if canonical_name(named) not in KNOWN_ASSISTANTS and not (writer and is_same(named, writer)):
        named = ""
    outside = any(
        where and where not in (DREAM, named) for where in (source, properties.get("url"))
    )
    return Origin(writer or named, outside)


def is_trusted(source: Origin, to: Viewer, trust: str) -> bool:
    """Whether it may be quoted without approval."""
    if trust == ALL or (to.name and source.writer and is_same(source.writer, to.name)):
        return True
    if source.outside:
        return False
    return not (source.writer and to.name) or (trust == CONNECTED and is_connected(source.writer))


def may_stand_for(one: Origin, other: Origin, trust: str) -> bool:
    """Whether everyone who may read the other may read this one in its place."""
    if _is_public(one, trust):
        return True
    return is_of_one_writer(one, other) and not _is_public(other, trust)


def standing(writer: Origin) -> int:
    """Whose words stay if several say the same: 0 the person's own, 1 those of a connected assistant, 2 others."""
    return 0 if writer == Origin() else 1 + is_foreign(writer)


def is_foreign(source: Origin) -> bool:
    """Whether the words are someone else's, and not those of an assistant that gives its name."""
    return source.outside or (bool(source.writer) and not is_connected(source.writer))


def is_of_one_writer(one: Origin, other: Origin) -> bool:
    """Whether the words of both may carry one name."""
    return one.outside == other.outside and is_same(one.writer, other.writer)


def _is_public(writer: Origin, trust: str) -> bool:
    return trust == ALL or is_trusted(writer, ANYBODY, trust)


def is_connected(writer: str) -> bool:
    """Whether a writer is an assistant with a name. A conversation stays private."""
    return canonical_name(writer) not in UNKNOWN and not writer.startswith(_NAMED)


def attribution(source: Origin, to: Viewer) -> str:
    """The note beside unapproved words of others; "" for the person's own."""
    if source.writer.startswith(_NAMED) or (to.name and is_same(source.writer, to.name)):
        return ""
    if not (source.writer or source.outside):
        return ""
    return f"{f'by {source.writer}' if source.writer else 'from elsewhere'}, not approved"


# Private notes.


def is_private(properties: Properties) -> bool:
    """Whether its property `private` is set, in any case. Readers of a note also set it for privacy marks in the
    text; see text.values.with_privacy."""
    return any(
        key.strip().lower() == "private" and is_yes(str(value)) for key, value in properties.items()
    )
