"""The answer of a recall: the best candidates within the budget of tokens, in their order, and the block of memories
that an assistant reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from vaultmem.light import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict
from vaultmem.memories.model import TYPES
from vaultmem.text.times import local_day, reminds_on
from vaultmem.text.values import lazy, plural

if TYPE_CHECKING:
    from vaultmem.memories.access import Viewer
    from vaultmem.recall.recall_candidate import Candidate

    Count = Callable[[Candidate], int]

PINNED = 0.5  # share of a better score above which a preference comes first
MOST_NAMED = 3  # commands that approve or include
OPEN, CLOSE = "<memory>", "</memory>"
_UNSEEN = "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_LESS_SIGNS = "<\uff1c\ufe64"
_LESS = f"[{_LESS_SIGNS}]"
# What models or their programs may take for the beginning or end of a message, a tool's answer or a block of
# ours, whatever follows: <system-reminder>, </tool_result>, <|im_start|>, <<SYS>>, [INST].
_MARKUP = (
    "system", "sys", "user", "assistant", "human", "developer", "tool", "function", "invoke", "antml",
    "instruction", "prompt", "think", "bos", "eos", "start_of_turn", "end_of_turn",
)  # fmt: skip
_NAMES = f"{_UNSEEN.join('memory')}|(?:{'|'.join(_UNSEEN.join(name) for name in _MARKUP)})s?(?!{_UNSEEN}[a-z0-9])"
_TAG = lazy(
    rf"{_LESS}(?={_UNSEEN}\s*{_UNSEEN}(?:[|\uff5c]|{_LESS}\s*{_UNSEEN}s{_UNSEEN}y{_UNSEEN}s|[/\uff0f]?\s*{_UNSEEN}(?:s>|{_NAMES})))",
    re.IGNORECASE,
)
_BRACKET_TAG = lazy(
    r"\[(?=/?(?:inst|sys|system_prompt|available_tools|tool_)[^\]\n]{0,20}\])", re.IGNORECASE
)
_ROLE = lazy(
    r"^([ \t]*)(?:\[(?=(?:memory|user|assistant|summary|system|developer|tool)\]|note )"
    r"|(?P<role>#{0,6}[ \t]*(?:system|developer|assistant|user|human|tool))[ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = lazy(
    rf"(?<=[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])([ \t]*{_UNSEEN})\[(?={_UNSEEN}(?:{'|'.join(TYPES)})\])",
    re.IGNORECASE,
)
Recalled = TypedDict("Recalled", {
    "id": "str | None", "path": str, "line": int, "end_line": int, "title": str, "content": str, "memory_type": str,
    "category": "str | None", "scope": str, "confidence": float, "importance": "float | None", "created_at": str,
    "archived": bool, "until": "str | None", "attribution": "str | None", "trusted": bool, "vouched": bool, "kind": str,
    "role": str, "score": float, "tokens": int, "parts": dict[str, float], "remind": str, "repeat": str,
}, total=False)  # fmt: skip
"""A memory, or a block of a note, as a recall tells it; a shared index knows less of it."""
HeldBack = TypedDict("HeldBack", {"id": "str | None", "by": "str | None", "note": bool})
"""A memory that is held back, named without its content."""


class RecallReport(TypedDict):
    """The answer of a recall."""

    memories: list[Recalled]
    tokens: int
    budget_used: float
    skipped: int  # further answers without room
    left_out: dict[str, int]  # by reason
    held_back: NotRequired[list[HeldBack]]
    remarks: NotRequired[list[str]]
    explain: NotRequired[list[dict[str, str | int]]]


def held_back_json(item: Candidate) -> HeldBack:
    """A held-back memory as JSON, without its content."""
    from vaultmem.memories.conversation import is_talk

    writer = item.origin.writer
    by = None if is_talk(writer) else writer or None
    return {"id": item.id or None, "by": by, "note": item.note}


def _attribution(item: Candidate, to: Viewer) -> str | None:
    from vaultmem.memories.access import attribution
    from vaultmem.text.sanitize import one_line

    return one_line(attribution(item.origin, to)) or None


def to_json(item: Candidate, number: int, to: Viewer) -> Recalled:
    """A candidate as JSON, with its tokens."""
    from vaultmem.text.times import stamp

    return {
        "id": item.id or None, "path": item.path, "line": item.line, "end_line": item.end_line, "title": item.title,
        "content": item.content, "memory_type": item.memory_type, "category": item.category or None,
        "scope": item.scope, "confidence": item.confidence, "importance": item.importance,
        "created_at": stamp(item.created),
        "archived": item.archived, "until": None if item.until is None else stamp(item.until),
        "attribution": _attribution(item, to), "trusted": item.trusted, "vouched": item.vouched,
        "kind": "note" if item.note else "memory", "role": item.role,
        "score": round(item.score, 4), "tokens": number,
        "parts": {name: round(part, 4) for name, part in item.parts.items()},
        **({"remind": item.remind, "repeat": item.repeat} if item.remind and not item.archived else {}),
    }  # fmt: skip


def entry(memory: Recalled) -> tuple[str, str]:
    """Type and content of a recalled item, for block(). A block of a note begins with its place, a memory with its
    day, and when it reminds; both name their author if that is not the asker."""
    content = memory["content"]
    whose = memory.get("attribution")
    notes = [whose] if whose else []
    if memory.get("kind") == "note":
        marks = f"({notes[0]}) " if notes else ""
        return memory["memory_type"], f"{place(memory)}: {marks}{content}"
    notes = [local_day(memory["created_at"]), *notes]
    if until := memory.get("until"):
        notes.append(f"until {local_day(until)}")
    elif memory.get("archived"):
        notes.append("from the archive")
    if when := reminds_on(memory):
        notes.append(when)
    return memory["memory_type"], f"({', '.join(notes)}) {content}"


def place(memory: Recalled) -> str:
    """The place, NOTE:LINE, on one line."""
    path = "".join(letter if letter.isprintable() else " " for letter in memory["path"])
    return f"{path}:{memory['line']}"


def block(memories: Iterable[tuple[str, str]]) -> str:
    """The block of the "logic" seed, section 4, from pairs of type and content. Contents are unchanged, except what
    would end the block or look like another entry."""
    lines = (f"[{kind.upper()}] {inert(content)}" for kind, content in memories)
    return "\n".join((OPEN, *lines, CLOSE))


def inert(content: str) -> str:
    """The content without anything that an assistant could take for the block's own marks or for a message: markup
    anywhere, lines after the first that begin like an entry or with a role, and invisible words."""
    from vaultmem.text.sanitize import without_carriers

    text = _BRACKET_TAG.sub("(", without_carriers(content))
    if any(sign in text for sign in _LESS_SIGNS):  # the pattern takes 10 ms to compile
        text = _TAG.sub("‹", text)
    first, break_, rest = text.partition("\n")
    return _LABEL.sub(r"\1(", first + break_ + without_roles(rest))


def without_roles(text: str) -> str:
    """The text with no line beginning like someone's message."""
    return _ROLE.sub(
        lambda match: f"{match[1]}{match['role']}꞉" if match["role"] else f"{match[1]}(", text
    )


def older_line(left_out: dict[str, int], *, typed: bool = True) -> str:
    """A line that counts older answers replaced by newer ones, and says how to see them; "" for none."""
    number = left_out.get("replaced")
    if not number:
        return ""
    how = "--as-of DATE shows what was known then" if typed else '"as_of" shows what was known then'
    return f"({plural(number, 'older answer')} replaced by newer ones; {how})"


def held_back_line(
    held_back: Sequence[HeldBack], *, typed: bool = True, to_person: bool = False
) -> str:
    """A line that counts what is held back, and says how to include it; "" for none."""
    if not held_back:
        return ""
    ids = [id_[:8] for held in held_back if (id_ := held["id"])]
    advice = [f"vaultmem approve {id_}" for id_ in ids[:MOST_NAMED]]
    if len(ids) > MOST_NAMED:
        advice.append(f"and {len(ids) - MOST_NAMED} more")
    if len(ids) < len(held_back):
        option = "vaultmem recall --untrusted" if typed else '"untrusted": true'
        advice.append(f"{option} includes {'notes, too' if ids else 'them'}")
    who = "you approve" if to_person else "the person approves"
    until = f" until {who}" if ids else ""
    return (
        f"({plural(len(held_back), 'answer')} from elsewhere held back{until}: {', '.join(advice)})"
    )


# Choosing it


class Chosen(NamedTuple):
    """The answer in order, each item with its tokens."""

    items: list[tuple[Candidate, int]]
    tokens: int
    skipped: int = 0  # further answers without room


def within(ranked: Sequence[Candidate], top_k: int, budget: int, count: Count) -> Chosen:
    """The best candidates within the limits, no line twice. What exceeds the budget is skipped, not cut."""
    chosen: list[tuple[Candidate, int]] = []
    left, repeated = budget, 0
    for whole in ranked:
        if len(chosen) == top_k:
            break
        item = reduce(without_lines, (other for other, _ in chosen), whole)
        tokens = count(item)
        if item is not whole and not item.content.strip():
            repeated += 1
        elif tokens <= left:
            chosen.append((item, tokens))
            left -= tokens
    return Chosen(chosen, budget - left, len(ranked) - len(chosen) - repeated)


def without_lines(item: Candidate, other: Candidate) -> Candidate:
    """A block without the lines that another of its note has, too: of a long line, each part has all of it."""
    if not (item.note and other.note and item.path == other.path):
        return item
    first, last = max(item.line, other.line), min(item.end_line, other.end_line)
    lines, start = item.content.split("\n"), first - item.line
    shared = lines[start : last + 1 - item.line]
    is_same = shared == other.content.split("\n")[first - other.line : last + 1 - other.line]
    if not (first <= last and is_same) or (start and last < item.end_line):
        return item
    rest = lines[:start] if start else lines[len(shared) :]
    line = item.line if start else last + 1
    return item._replace(line=line, end_line=line + len(rest) - 1, content="\n".join(rest))


def preferences_first(chosen: Chosen) -> Chosen:
    """The same with preferences first, unless there is a far better answer."""
    least = PINNED * max((item.score for item, _ in chosen.items), default=0.0)
    first = sorted(
        chosen.items, key=lambda pair: not (pair[0].is_preference and pair[0].score >= least)
    )
    return chosen._replace(items=first)
