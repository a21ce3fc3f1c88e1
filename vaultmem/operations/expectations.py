"""Expectations: questions, each with words that a recall must find. They are kept on a page of the memory folder, in
lines that a person can read and edit; the ledger knows which failed the last check."""

from __future__ import annotations

import contextlib

from vaultmem.errors import NoteNotFoundError, StateError, UsageError
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.draft import CREATE, EDIT, LOST, Change, Finding, Plan
from vaultmem.memories.reports import finish
from vaultmem.memories.store import MemoryStore, Session
from vaultmem.notes import pages
from vaultmem.notes.places import EXPECTATIONS as NAME
from vaultmem.notes.places import OUTLINE
from vaultmem.text.sanitize import quote_text
from vaultmem.text.values import lazy
from vaultmem.vault.files import decode, digest

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.api.rpc import Reader

MOST = 500
_HEAD = "What a question has to find, one a line: `- question → words`. `vaultmem expect --run` checks it."
_ARROW = " → "
_LINE = lazy(r"[ \t]*[-*+][ \t]+(?P<question>\S.*?)[ \t]+(?:→|->)[ \t]+(?P<answer>\S.*?)[ \t]*")
_LINK = lazy(r"\[\[([^]|#\n]+)[^]\n]*\]\]")


class Expectation(NamedTuple):
    """One question, and what its results must contain: words, or `[[the title of a note]]`."""

    question: str
    answer: str

    def fits(self, title: str, path: str, content: str) -> bool:
        """Whether a result meets the expectation."""
        if link := _LINK.fullmatch(self.answer):
            note_name = link[1].strip().casefold()
            return note_name in (title.casefold(), path.casefold().removesuffix(".md"))
        return _fold(self.answer) in _fold(f"{title} {path} {content}")

    def as_line(self) -> str:
        """Its line on the page."""
        return f"- {self.question}{_ARROW}{self.answer}"

    def as_problem(self) -> str:
        """What pending.md says where it is not met."""
        return f"“{quote_text(self.question)}” does not find “{quote_text(self.answer)}”"


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def read(text: str) -> list[Expectation]:
    """The expectations in a page's content, without duplicates."""
    lines = (_LINE.fullmatch(line) for line in text.splitlines())
    every = (Expectation(line["question"], line["answer"]) for line in lines if line)
    return list(dict.fromkeys(every))[:MOST]


def expectations(store: MemoryStore, _reader: Reader, _arguments: Arguments) -> JsonObject:
    """All expectations, in page order."""
    return {"expectations": [one._asdict() for one in read(_content(store)[1])]}


def expect(session: Session, arguments: Arguments) -> JsonObject:
    """Add an expectation; with `remove`, drop one answer of a question, or all."""
    question = arguments.text("question")
    data, content = _content(session.store)
    if arguments.flag("remove"):
        return _remove(session, arguments, data, content)
    new = Expectation(question, arguments.text("answer"))
    if _LINE.fullmatch(new.as_line()) is None or read(new.as_line()) != [new]:
        raise UsageError("give a question and the words that it has to find, both without an arrow")
    page_lines = read(content)
    others = [
        expectation.answer
        for expectation in page_lines
        if _fold(expectation.question) == _fold(question) and expectation != new
    ]
    if len(page_lines) >= MOST:
        raise UsageError(f"there are {MOST} expectations; remove some")
    after = content
    if new not in page_lines:
        after = f"{content.rstrip() or _HEAD + chr(10)}\n{new.as_line()}\n"
    return {
        **_write(session, arguments, (data, after), f"expect: {question}", new),
        "others": others,
    }


def _remove(session: Session, arguments: Arguments, data: bytes | None, content: str) -> JsonObject:
    question, answer = _fold(arguments.needed("question")), _fold(arguments.text("answer"))
    lines = content.splitlines(keepends=True)
    gone = [
        line
        for line in lines
        for expectation in read(line)
        if _fold(expectation.question) == question and answer in ("", _fold(expectation.answer))
    ]
    if not gone:
        what = "that answer is not expected" if answer else "nothing is expected"
        raise NoteNotFoundError(f"{what} of that question; vaultmem expect lists them")
    after = "".join(line for line in lines if line not in gone)
    first = read(gone[0])[0]
    report = _write(session, arguments, (data, after), f"expect no longer: {first.question}", first)
    if not arguments.flag("dry_run"):
        ledger = session.store.ledger
        texts = {one.as_problem() for line in gone for one in read(line)}
        others = [one for one in reads.findings(ledger, LOST) if one["said"] not in texts]
        reads.keep_findings(ledger, (LOST,), others, session.now)
    return report


def _write(
    session: Session, arguments: Arguments, page: tuple[bytes | None, str], why: str, which: Expectation
) -> JsonObject:  # fmt: skip
    path, (data, content) = _path(session.store), page
    form = session.store.rules.page_style(path)
    composed = None if data is None else pages.edit(form, data, {}, content)
    raw = composed or (pages.compose(form, {}, content) if form == OUTLINE else content.encode())
    action, old = (CREATE, None) if data is None else (EDIT, path)
    expected = None if data is None else digest(data)
    change = Change(action, "", old, path, {}, None, expected, why, raw)
    plan = Plan("expect", (change,) if raw != data else ())
    planned = finish(session, arguments, plan, why)
    return planned or {**which._asdict(), "path": path, "changed": bool(plan.changes)}


def keep_lost(store: MemoryStore, _reader: Reader, arguments: Arguments) -> JsonObject:
    """Store which expectations fail and since when, for the page of pending items."""
    lost_since = {
        finding["subject"]: finding["at"] for finding in reads.findings(store.ledger, LOST)
    }
    rows: list[Finding] = []
    for record in arguments.records("lost"):
        text = Expectation(str(record["question"]), str(record["answer"])).as_problem()
        at = lost_since.get(text, store.now())
        rows.append({"kind": LOST, "subject": text, "said": text, "at": at})
    with contextlib.suppress(StateError):  # checking works even where nothing can be written
        reads.keep_findings(store.ledger, (LOST,), rows, store.now())
    return {"lost": len(rows)}


def _path(store: MemoryStore) -> str:
    return f"{store.folder}/{NAME}"


def _content(store: MemoryStore) -> tuple[bytes | None, str]:
    path = _path(store)
    data = store.bytes_of(path)
    text = "" if data is None else decode(data)[0].replace("\r\n", "\n")
    return data, pages.read(store.rules.page_style(path), text).content
