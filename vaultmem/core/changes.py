"""What a job or a command wants to do to memories: a plan of changes, to be printed or applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vaultmem.adapter import Value

CREATE, EDIT, MOVE, ARCHIVE, RESTORE = "create", "edit", "move", "archive", "restore"


class Change(NamedTuple):
    """One file that is to become another. Nothing is ever deleted: what goes, goes to the archive.

    `properties` are set, in this order; None removes one. `content` is the whole new content; None keeps it.
    """

    action: str
    id: str
    path: str | None  # where it is now; None for a new one
    target: str  # where it will be
    properties: Mapping[str, Value]
    content: str | None
    expected: (
        str | None
    )  # the content's hash that the plan saw: when it is another one by then, nothing is done
    why: str  # one line for a person
    raw: bytes | None = (
        None  # the whole file instead, for a note that is no memory; `expected` is its digest then
    )


class Finding(NamedTuple):
    """What a job noticed and will not change by itself."""

    kind: str  # contradiction, unsure, fading, ...
    subject: str  # the path of the memory or note
    said: str  # one line for a person
    others: tuple[str, ...] = ()  # paths that are the evidence


class Plan(NamedTuple):
    """What a job wants to do and what it noticed. Deterministic for a given vault and clock."""

    name: str
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    left: int = 0  # how many more changes there are than one run may do
