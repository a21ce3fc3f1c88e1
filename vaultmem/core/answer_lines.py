"""The page answers.md: what was answered to pending items and what the desktop has told of, one line each, so that all
machines that share the vault know of it. Every line is read by itself, whatever a sync tool made of the page.

What is cut off a line at its end never beats the whole line: of two words of one second the greater counts, and a
beginning is less than the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from vaultmem.core.answers import DONE, DROPPED, OPEN, SNOOZED, Answer, Told, union
from vaultmem.core.defused import one_line
from vaultmem.core.pending_page import MARKS, OUTLINE
from vaultmem.core.stamps import seconds

TITLE = "Answers"
EXPLAINED = (
    "What was answered to the items of pending.md, and what the desktop has told of, for all machines that share "
    "this vault. vaultmem writes this page; to take an answer back: vaultmem done ID --undo"
)
_MOST_NAME = 40  # characters
_REMEMBERED = 4_096  # answers are looked at again and again
_ID = r"[ \t]*[-*+] (?P<id>vm-[a-z2-7]{6,})"
_AT = r"(?P<at>2[01]\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
_TIME = r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d)?"
_ANSWER = re.compile(
    rf"{_ID} (?P<state>{OPEN}|{DONE}|{DROPPED}|{SNOOZED}) {_AT}(?: until (?P<until>{_TIME}))?"
    r"(?: by (?P<by>[^:]+?)(?:: (?P<text>.*))?)?[ \t]*"
)
_TOLD = re.compile(rf"{_ID} told {_AT} (?P<times>\d{{1,6}})x(?: for (?P<moment>{_TIME}))?[ \t]*")
_TELLS_MOMENT = re.compile(_TIME)
_MARK = re.compile(r"[ \t]*generated::?[ \t]*[\"']?vaultmem[\"']?[ \t]*", re.IGNORECASE)
_OURS = re.compile(rf"[ \t]*(?:[-*+] )?(?:#+ )?(?:{TITLE}|{re.escape(EXPLAINED)}|---)[ \t]*|")


class Said(NamedTuple):
    """What a page of answers says."""

    answers: Mapping[str, Answer]
    told: Mapping[str, Told]
    ours: bool  # False: a person's own note has this name


@lru_cache(_REMEMBERED)
def plain(answer: Answer) -> Answer:
    """The answer as its line says it: what both the page and the ledger keep."""
    name = one_line(answer.by.replace(":", " "), _MOST_NAME)
    name = name or ("somebody" if answer.text else "")
    until = answer.until if re.fullmatch(_TIME, answer.until) else ""
    return answer._replace(by=name, until=until, text=one_line(answer.text))


def is_plain(one: Answer | Told) -> bool:
    """Whether a page can hold it."""
    line = told_line(one) if isinstance(one, Told) else answer_line(plain(one))
    match = (_TOLD if isinstance(one, Told) else _ANSWER).fullmatch(line)
    return bool(match and seconds(one.at) is not None)


def answer_line(answer: Answer) -> str:
    """One answer, without a line end."""
    until = f" until {answer.until}" if answer.until else ""
    text = f": {answer.text}" if answer.text else ""
    by = f" by {answer.by}" if answer.by else ""
    return f"- {answer.id} {answer.state} {answer.at}{until}{by}{text}"


def told_line(told: Told) -> str:
    """One thing that was told, without a line end."""
    moment = f" for {told.moment}" if _TELLS_MOMENT.fullmatch(told.moment) else ""
    return f"- {told.id} told {told.at} {told.times}x{moment}"


def render(answers: Iterable[Answer], told: Iterable[Told], style: str) -> str:
    """The page; the same answers give the same bytes."""
    lines = sorted([*map(answer_line, answers), *map(told_line, told)])
    if style == OUTLINE:
        return "".join(f"{line}\n" for line in (MARKS[1], "", f"- {EXPLAINED}", *lines))
    head = ("---", MARKS[0], "---", "", f"# {TITLE}", "", EXPLAINED, "")
    return "".join(f"{line}\n" for line in (*head, *lines))


def read(text: str) -> Said:
    """What can be read of a page, of two lines to one item the later; a merge may have left both."""
    answers: dict[str, Answer] = {}
    told: dict[str, Told] = {}
    marked = odd = False
    for line in text.split("\n"):
        found = _read(line.rstrip("\r"))
        if isinstance(found, Answer):
            answers.update(union({found.id: answers.get(found.id, found)}, {found.id: found}))
        elif isinstance(found, Told):
            told.update(union({found.id: told.get(found.id, found)}, {found.id: found}))
        else:
            marked = marked or bool(_MARK.fullmatch(line))
            odd = odd or not _OURS.fullmatch(line.rstrip("\r"))
    return Said(answers, told, marked or not odd)


def _read(line: str) -> Answer | Told | None:
    match = _ANSWER.fullmatch(line)
    if match and seconds(match["at"]) is not None:
        text = match["text"] or ""
        return plain(
            Answer(
                match["id"],
                match["state"],
                match["at"],
                match["by"] or "",
                match["until"] or "",
                text,
            )
        )
    match = _TOLD.fullmatch(line)
    if match and seconds(match["at"]) is not None:
        return Told(match["id"], match["at"], int(match["times"]), match["moment"] or "")
    return None
