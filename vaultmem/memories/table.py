"""The table of verbs: what can be asked about memories, by whatever door."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from vaultmem.core import access
from vaultmem.errors import UsageError
from vaultmem.memories.asked import Asked, Params
from vaultmem.memories.desk import Desk, Session
from vaultmem.memories.reader import Reader


class Verb(NamedTuple):
    """One verb: the module and the function that carry it out, loaded when it is first asked for; the parameters
    it knows; whether it writes (a dry run does not)."""

    module: str
    function: str
    params: frozenset[str]
    writes: bool = True
    apart: bool = False  # takes no turn at the desk

    def run(self, session: Session, asked: Asked) -> object:
        """Carry it out at the desk."""
        found: Callable[[Session, Asked], object] = self._found()
        return found(session, asked)

    def run_apart(self, desk: Desk, reader: Reader, asked: Asked) -> object:
        """Carry it out beside whoever is at the desk."""
        found: Callable[[Desk, Reader, Asked], object] = self._found()
        return found(desk, reader, asked)

    def _found(self) -> Any:
        return getattr(import_module(f"vaultmem.memories.{self.module}"), self.function)


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ABOUT = _names("scope source agent personality project type global tags category")
_NEW = _ABOUT | _names("content decay memory_type expires title replaces by dry_run")
_REMIND = (_NEW - _names("category expires")) | _names("at repeat")
_LIST = _ABOUT | _names("by phase since until min_confidence limit deleted include_compressed")
_ONE = _names("id by dry_run")
_RECALL = _names(
    "query budget top_k types scope notes min_confidence include_compressed untrusted score_threshold without explain"
    " counts by as_of"
)
_JOB = _names("dry_run limit by")

VERBS = {
    "write": Verb("writing", "write", _NEW),
    "remind": Verb("reminding", "remind", _REMIND),
    "ingest": Verb(
        "ingesting", "ingest_text", _ABOUT | _names("text session_id memory_type by dry_run")
    ),
    "take-in": Verb("taking", "take_in", _names("source items by dry_run limit")),
    "read": Verb("filing", "read", _names("id by scope"), writes=False),
    "list": Verb("filing", "listed", _LIST, writes=False),
    "delete": Verb("filing", "delete", _ONE),
    "restore": Verb("filing", "restore", _ONE),
    "tag": Verb("filing", "tag", _ONE | _names("add remove")),
    "upgrade": Verb("filing", "upgrade", _ONE | _names("category")),
    "link": Verb("filing", "link", _ONE | _names("other")),
    "unlink": Verb("filing", "unlink", _ONE | _names("other")),
    "reinforce": Verb("filing", "reinforce", _ONE),
    "resolve-links": Verb("upkeep", "resolve_links", _JOB),
    "dream": Verb("upkeep", "dream", _JOB | _names("level only_news summaries")),
    "compress": Verb("upkeep", "compress", _JOB | _names("summaries")),
    "old-sessions": Verb("upkeep", "old_sessions", _names("limit only_news"), writes=False),
    "doubts": Verb("doubting", "doubts", frozenset(), writes=False),
    "advise": Verb("advising", "advise", _names("model answers")),
    "expire": Verb("upkeep", "expire", _JOB | _names("unattended")),
    "decay": Verb("upkeep", "decay", _JOB | _names("unattended")),
    "promote": Verb("upkeep", "promote", _JOB),
    "consolidate": Verb("upkeep", "consolidate", _JOB | _names("unattended")),
    "overview": Verb("overview", "overview", frozenset(), writes=False),
    "waiting": Verb("overview", "waiting", frozenset(), writes=False),
    "history": Verb("past", "history", _names("id limit by since conversations"), writes=False),
    "diff": Verb("past", "diff", _names("commit"), writes=False),
    "undo": Verb("past", "undo", _names("commit last name since by dry_run")),
    "approved": Verb("approving", "approved", _names("ids"), writes=False, apart=True),
    "approve": Verb("approving", "approve", _names("id agent source undo by dry_run")),
    "answer": Verb("answering", "answer", _ONE | _names("state until series vanished")),
    "settle": Verb("answering", "settle", _names("dry_run vanished")),
    "pending": Verb("waits", "pending", _names("days vanished facts"), writes=False, apart=True),
    "notify": Verb("waits", "notify", _names("vanished dry_run"), apart=True),
    "recall": Verb("recalling", "recall", _RECALL, writes=False, apart=True),
    "proposals": Verb("review", "proposals", frozenset(), writes=False),
    "export": Verb(
        "exporting", "export", _names("scope category include_archived shape after"), writes=False
    ),
    "import": Verb(
        "importing", "import_lines", _names("file on_conflict shape by dry_run"), apart=True
    ),
    "entries": Verb(
        "conversations",
        "entries",
        _names("conversation kinds deleted limit"),
        writes=False,
        apart=True,
    ),
    "conversations": Verb("conversations", "conversations", frozenset(), writes=False, apart=True),
    "converse": Verb(
        "conversing", "converse", _names("conversation new retire mark by why dry_run")
    ),
    "promote-fact": Verb("conversations", "promote", _ONE | _names("category")),
    "forget": Verb("conversations", "forget", _ONE),
    "tool-view": Verb("tool_files", "view", _names("command by"), writes=False),
    "tool-file": Verb("tool_files", "change", _names("command by")),
    "accept": Verb("review", "accept", _ONE),
    "set": Verb("own_notes", "set_property", _names("note key value add dry_run")),
    "unset": Verb("own_notes", "unset", _names("note key value dry_run")),
    "reject": Verb("review", "reject", _ONE),
}


def do(desk: Desk, reader: Reader, name: str, params: Params) -> object:
    """Carry out a verb; what it says, ready for JSON. Raises VaultmemError in one clear line."""
    verb = VERBS.get(name)
    if verb is None:
        raise UsageError(f"unknown verb {name[:40]!r}; known: {', '.join(VERBS)}")
    asked = Asked(params, verb.params)
    if verb.apart:
        return verb.run_apart(desk, reader, asked)
    with desk.session(reader, writes=verb.writes) as session:
        session.viewer = access.viewer(asked.text("by"), asked.texts("scope"))
        return verb.run(session, asked)


def check_texts(name: str, params: Params) -> None:
    """See that no text of a request is larger than its verb takes. Raises VaultmemError that says what to do."""
    if name in VERBS:
        asked = Asked(params, VERBS[name].params)
        if "content" in params:
            asked.content()
        if "text" in params:
            asked.whole_text("text")


def only_reads(name: str) -> bool:
    """Whether the verb needs no lock."""
    return name in VERBS and not VERBS[name].writes
