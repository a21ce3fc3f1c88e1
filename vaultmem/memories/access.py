"""Who may see what, and whose words may be quoted without approval: the one rule behind every door. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vaultmem.text.values import EVERYBODY, TYPE_CHECKING, is_yes, lazy, value

if TYPE_CHECKING:
    from vaultmem.adapter import Properties

SCOPE = lazy(r"global|(?:agent|conversation|user):[^\s:][^\n]{0,199}")
_AGENT, _NAMED = "agent:", ("conversation:", "user:")
DREAM = "dream"  # the property `source` of the memories that dreams make
# Programs that run assistants, and the two whose memories can be taken in; vaultmem connect knows the first ones.
ASSISTANTS = ("claude", "codex", "gemini", "copilot", "cursor", "opencode", "car-agent", "fingersaver")  # fmt: skip
UNKNOWN = frozenset(("", "assistant", "mcp", "unknown"))  # names of clients that give none
PRIVATE, OTHER_SCOPE = "private", "of another scope"  # reasons
CONNECTED, OWN, ALL = TRUST = ("connected", "own", "all")  # the setting recall.trust


@value
class Viewer:
    """The caller of a request, and the conversations and users that it names."""

    name: str = ""  # "" for the person
    also: frozenset[str] = frozenset()

    @property
    def scope(self) -> str:
        """Their own scope; that of everybody for the person, who needs none."""
        if not self.name:
            return EVERYBODY
        return self.name if self.name.startswith(_NAMED) else f"{_AGENT}{self.name}"

    def sees(self, scope: str) -> bool:
        """Whether what has this scope is for them."""
        if not self.name or scope in (EVERYBODY, self.name) or scope in self.also:
            return True
        return scope.startswith(_AGENT) and is_same(scope.removeprefix(_AGENT), self.name)


PERSON = Viewer()
ANYBODY = Viewer("an assistant that wrote nothing")
PERSON_NAMES = ("you", "person")  # how the history calls the person; no assistant is called so


@value
class Origin:
    """Where a memory comes from."""

    writer: str = ""  # the assistant that wrote it; "" for the person
    outside: bool = False  # from the web, or from another program


def viewer(by: str, scopes: Iterable[str] = ()) -> Viewer:
    """The viewer of a name. Of the scopes that a request names, those of other assistants grant nothing."""
    return Viewer(by, frozenset(scope for scope in scopes if scope.startswith(_NAMED)))


def hidden(properties: Properties, to: Viewer, *, memory: bool) -> str:
    """Why `to` may not see a note with these properties; "" when it may. The person may see everything."""
    if not to.name:
        return ""

    return reason(scope_of(properties, memory=memory), to, private=is_private(properties))


def reason(scope: str, to: Viewer, *, private: bool) -> str:
    """The same for what has this scope, and is kept private or not."""
    if private and to.name:
        return PRIVATE
    return "" if to.sees(scope) else OTHER_SCOPE


def scope_of(properties: Properties, *, memory: bool) -> str:
    """The scope of a note. An unknown word hides a memory from all assistants; elsewhere it limits nothing."""
    from vaultmem.notes.places import key_of  # a start-up hook does without

    raw = next((one for key, one in properties.items() if key_of(key) == "scope"), None)
    scope = raw.strip() if isinstance(raw, str) else ""
    return scope if scope and (memory or SCOPE.fullmatch(scope)) else EVERYBODY


def canonical_name(name: str) -> str:
    """One name for an assistant, however its program spells it: Claude Code says claude-code."""
    if name.startswith(_NAMED):
        return name
    folded = re.sub(r"[\W_]+", "-", name.lower()).strip("-").removeprefix("github-")
    return next(
        (assistant for assistant in ASSISTANTS if f"{folded}-".startswith(f"{assistant}-")),
        name.lower().strip(),
    )


def names_person(name: str) -> bool:
    """Whether it reads as a name of the person, or as none, whatever stands in it that nobody sees."""
    from vaultmem.text.sanitize import without_invisible  # who reads needs it not

    return without_invisible(name).strip().lower() in ("", *PERSON_NAMES)


def is_same(one: str, other: str) -> bool:
    """Whether two names are those of one assistant."""
    return one == other or canonical_name(one) == canonical_name(other)


def origin(properties: Properties) -> Origin:
    """The origin of a memory, by properties in our spelling. An assistant's name as source means the writer, but not
    where it was ingested from a file of that program: anybody may have written that, such as who owns a project."""
    source, agent = properties.get("source"), properties.get("agent")
    writer = agent if isinstance(agent, str) else "unknown" if agent else ""
    is_ingested = bool(properties.get("source_path"))
    is_name = isinstance(source, str) and not is_ingested and _is_assistant(source, writer)
    named = str(source) if is_name else ""
    outside = any(
        where and where not in (DREAM, named) for where in (source, properties.get("url"))
    )
    return Origin(writer or named, outside)


def _is_assistant(source: str, writer: str) -> bool:
    return canonical_name(source) in ASSISTANTS or (bool(writer) and is_same(source, writer))


def is_trusted(source: Origin, to: Viewer, trust: str) -> bool:
    """Whether it may be quoted without approval."""
    if trust == ALL or (to.name and source.writer and is_same(source.writer, to.name)):
        return True
    if source.outside:
        return False
    return not (source.writer and to.name) or (trust == CONNECTED and is_connected(source.writer))


def may_stand_for(one: Origin, other: Origin, trust: str) -> bool:
    """Whether everybody who may read the other may read the one in its place."""
    if _is_public(one, trust):
        return True
    return is_of_one_writer(one, other) and not _is_public(other, trust)


def standing(writer: Origin) -> int:
    """Whose words stay where several say the same: 0 the person's own, 1 those of a connected assistant, 2 others."""
    return 0 if writer == Origin() else 1 + is_foreign(writer)


def is_foreign(source: Origin) -> bool:
    """Whether the words are those of others, and not of an assistant that says its name."""
    return source.outside or (bool(source.writer) and not is_connected(source.writer))


def is_of_one_writer(one: Origin, other: Origin) -> bool:
    """Whether the words of both may stand under one name."""
    return one.outside == other.outside and is_same(one.writer, other.writer)


def _is_public(writer: Origin, trust: str) -> bool:
    return trust == ALL or is_trusted(writer, ANYBODY, trust)


def is_connected(writer: str) -> bool:
    """Whether a writer is an assistant with a name. A conversation stays private."""
    return canonical_name(writer) not in UNKNOWN and not writer.startswith(_NAMED)


def attribution(source: Origin, to: Viewer) -> str:
    """The note beside unapproved words of others; "" for one's own."""
    if source.writer.startswith(_NAMED) or (to.name and is_same(source.writer, to.name)):
        return ""
    if not (source.writer or source.outside):
        return ""
    return f"{f'by {source.writer}' if source.writer else 'from elsewhere'}, not approved"


# Private notes.


def is_private(properties: Properties) -> bool:
    """Whether its property `private` is set, in whatever letters. Whoever reads a note sets it for what only the text
    says, see text.values.with_privacy."""
    return any(
        key.strip().lower() == "private" and is_yes(str(value)) for key, value in properties.items()
    )
