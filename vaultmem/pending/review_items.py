"""What a person should look at, and which preferences an assistant should know: read from the index and the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from functools import cached_property
from itertools import chain

from vaultmem.index.catalog import Catalog
from vaultmem.ledger import reads
from vaultmem.ledger.ledger import Ledger
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories.access import CONNECTED, is_foreign, is_private, origin, scope_of
from vaultmem.memories.draft import CONTRADICTION, HALTED, LEAVING, LOST, Finding, noticed
from vaultmem.memories.item_answers import (
    Answers,
    approval_id,
    carried_out_id,
    completion_id,
    finding_id,
    halted_id,
    is_approved,
    is_believed,
    is_closed,
    item_id,
    leaving_id,
    proposal_id,
)
from vaultmem.notes.places import INBOX, file_name
from vaultmem.pending import person_facts, review_sources
from vaultmem.pending.person_facts import Note, local_time
from vaultmem.reminders.due import Due
from vaultmem.reminders.items import (
    FULL,
    PRIVATE,
    SHORT,
    Extent,
    Item,
    completion_questions,
    days_later,
    due_items,
    open_items,
    place_of,
    section_of,
    title_of,
    unchanged_until,
    urgency,
    words_of,
)
from vaultmem.text.times import seconds
from vaultmem.text.values import SOON, interleave, plural, remembers_last

if TYPE_CHECKING:
    from vaultmem.pending.listing import Fact
    from vaultmem.review.proposals import Proposal

MOST = 3  # single lines per kind
MOST_QUESTIONS = 2  # questions at once about outside content, chats and dreams
_QUESTIONS = ("approve", "remember", "proposals")  # kinds that only the person may answer
PERSONAL = ("vanished", "page", HALTED, LOST, "complete", "leaving", *_QUESTIONS)  # no chores
MOST_PREFERENCES = 8
_KINDS = (*PERSONAL, CONTRADICTION, "advice", *review_sources.KINDS, "inbox")
_RANK = {kind: number * 10 for number, kind in enumerate(_KINDS)}
_LOST = "{} expectations are not met: vaultmem expect --run"
_COUNTED = {
    "copies": "{} sync conflict copies: vaultmem doctor names them",
    "unreadable": "{} notes cannot be read: vaultmem doctor names them",
    "stray": "{} notes of the memory folder are in no folder of a category, and are left alone",
}
_KEYS = {"copies": "conflict copy"}  # the word in ids, where different
CHORES = "{} to look after: vaultmem review"
_MEMORIES = """AND (n.category IN ('inbox', 'preferences') OR n.properties LIKE '%procedural%'
    OR json_extract(n.properties, '$.id') IN (SELECT value FROM json_each(?))) ORDER BY f.path"""


class Context(NamedTuple):
    """What a review reads from."""

    catalog: Catalog
    ledger: Ledger
    vault: str
    folder: str  # the memory folder
    now: datetime  # local time, with its zone
    page: str = ""  # the path of the page itself
    asks: bool = True  # whether to tick done tasks in their notes
    trust: str = CONNECTED  # the setting recall.trust
    page_problem: str = ""  # why the person does not see the page in the editor


class Review:
    """Everything due or to review at one moment. `vanished` is the reason if too many notes are gone."""

    def __init__(
        self, context: Context, dues: Sequence[Due], answers: Answers, vanished: str = ""
    ) -> None:
        self.context, self._dues = context, dues
        self._answers, self._vanished = answers, vanished

    def every(self, days: int, extent: Extent = SHORT) -> list[Item]:
        """All items of the next days; reviews either all, or as many as fit the page."""
        wall = self.context.now.replace(tzinfo=None)
        return [
            *due_items(self._dues, self._answers, wall, days),
            *(self.everything() if extent == FULL else self.questions()),
            *self.preferences(),
        ]

    def items(self, days: int = SOON) -> list[Item]:
        """All items that an unlimited page would show, this many `days` ahead."""
        return sorted(self.every(days), key=urgency)

    def facts(self) -> list[Fact]:
        """The facts about the person and projects for an assistant's start."""
        return person_facts.facts(self.context, self._answers)

    def unchanged_until(self) -> str:
        """The local minute of today at which other items may become pending; "" for midnight."""
        return unchanged_until(self._dues, self._answers, self.context.now.isoformat()[:16])

    def questions(self) -> list[Item]:
        """A few questions that only the person can answer, and one line that counts the rest."""
        kinds = self._kinds
        questions = interleave(*(kinds[kind] for kind in _QUESTIONS), key=lambda item: item.id)
        # Each answer brings up the next.
        first, rest = questions[:MOST_QUESTIONS], questions[MOST_QUESTIONS:]
        rest += [item for kind, some in kinds.items() if kind not in PERSONAL for item in some]
        lost = _summarize_many(kinds[LOST], _LOST)
        alone = ("vanished", "page", HALTED, "complete", "leaving")
        listed = [*(item for kind in alone for item in kinds[kind]), *lost, *first]
        if rest:
            key = "\0".join(sorted(item.id for item in rest))
            text = CHORES.format(plural(self.count(), "thing"))
            rank = _RANK[CONTRADICTION]
            listed.append(
                Item(item_id("chores", key), "review", text, rank=rank, counts_others=True)
            )
        return self._drop_answered(listed)

    def chores(self) -> list[Item]:
        """Everything that vaultmem review lists besides proposals, most urgent kinds first; many of a kind become one
        line if another command lists them."""
        return self._drop_answered(
            one
            for kind, items in {**self._kinds, "proposals": [], "advice": []}.items()
            for one in (_summarize_many(items, _COUNTED[kind]) if kind in _COUNTED else items)
        )

    def count(self) -> int:
        """How many things vaultmem review lists; all counts come from here."""
        return len(self.chores()) + len(self._doable) + len(self._advice)

    def everything(self) -> list[Item]:
        """Everything to review, for the expanded page."""
        return [*self.chores(), *self._kinds["proposals"]]

    def preferences(self) -> list[Item]:
        """How the person wants things done, from filed memories: their own words and approved ones, then those of
        assistants as far as recall.trust allows. If there are many, the person's newest and the most used."""
        now = self.context.now.timestamp()
        pairs = [
            (memory, "" if is_approved(memory.id, self._answers) else origin(memory.own).writer)
            for memory in person_facts.procedural(self._memories)
            if is_believed(memory.id, self._answers, foreign=is_foreign(origin(memory.own)))
            and not is_closed(self._answers, _preference_id(memory))
            and not is_private(memory.own)
            and not ((ends := seconds(memory.own.get("expires_at"))) and ends <= now)
        ]
        pairs.sort(key=lambda pair: (pair[0].text("created_at"), pair[0].id), reverse=True)
        pairs.sort(key=lambda pair: bool(pair[1]))
        counts = person_facts.use_counts(self.context)
        used = sorted(
            pairs, key=lambda pair: -person_facts.uses_of(pair[0].own, pair[0].id, counts)
        )
        listed = interleave(pairs, used, key=lambda pair: pair[0].id)[:MOST_PREFERENCES]
        pairs = [pair for pair in pairs if pair in listed]
        return [
            Item(
                _preference_id(memory), "preferences", text, source=memory.path, rank=number, author=author,
                memory=memory.id, known=local_time(memory.own.get("created_at"), self.context.now.tzinfo)[:10],
                scope=person_facts.scope_for(scope_of(memory.own, memory=True), author, self.context.trust),
            )
            for number, (memory, author) in enumerate(pairs)
            if (text := self._content(memory)) != PRIVATE
        ]  # fmt: skip

    def answerable_ids(self) -> set[str]:
        """The ids of all existing items that may have been answered, which must not be dropped."""
        ids = {id_ for due in self._dues for id_ in (due.id, due.series, carried_out_id(due.id))}
        ids |= {approval_id(due.id) for due in self._dues}
        ids |= {completion_id(due.path) for due in self._dues}
        for memory in person_facts.procedural(self._memories):
            ids |= {approval_id(memory.id), _preference_id(memory)}
        context = self.context
        learned = person_facts.learned_facts(context.catalog, context.vault, context.folder)
        ids |= {fact.question for fact in learned}
        proposed = {proposal_id(row.id) for row in reads.all_proposals(context.ledger)}
        ids |= proposed | {carried_out_id(id_) for id_ in proposed}
        everything = Review(context, self._dues, {}, self._vanished)
        items = [*chain.from_iterable(everything._kinds.values()), *everything.questions()]
        return (ids | {item.id for item in [*items, *everything.chores()]}) - {""}

    @cached_property
    def _kinds(self) -> dict[str, list[Item]]:
        """Everything unanswered to review, by kind, most urgent first."""
        why, page = self._vanished, self.context.page_problem
        wall = self.context.now.replace(tzinfo=None)
        kinds = {
            "vanished": [_item("vanished", item_id("vanished", why), why)] if why else [],
            "page": [_item("page", item_id("page", page), page)] if page else [],
            HALTED: self._from_jobs(HALTED, "; tick if that is right"), LOST: self._from_jobs(LOST),
            "complete": completion_questions(self._dues, self._answers, wall) if self.context.asks else [],
            "leaving": self._leaving(), "approve": self._to_approve(), "remember": self._to_remember(),
            CONTRADICTION: self._contradictions(),
            "proposals": [_item("proposals", *row) for row in review_sources.questions(self.context, self._doable)],
            "advice": self._advice, **self._file_problems(), "inbox": self._inbox(),
        }  # fmt: skip
        return {kind: self._drop_answered(items) for kind, items in kinds.items()}

    def _drop_answered(self, items: Iterable[Item]) -> list[Item]:
        return open_items(items, self._answers, self.context.now.replace(tzinfo=None))

    # --- Memories

    @cached_property
    def _findings(self) -> list[Finding]:
        return reads.findings(self.context.ledger)

    @cached_property
    def _memories(self) -> list[Note]:
        """Living memories with an id: those in the inbox, procedural ones, and those in findings."""
        context = self.context
        ids = json.dumps([id_ for row in self._findings for id_ in row.get("ids", ())])
        rows = person_facts.note_rows(context.catalog, context.folder, _MEMORIES, ids)
        return person_facts.living(rows, context.folder)

    def _content(self, memory: Note) -> str:
        if is_private(memory.own):
            return PRIVATE
        content = person_facts.content(self.context.vault, memory.path, memory.dialect)
        return PRIVATE if content is None else content or memory.title

    # --- Kinds

    def _to_approve(self) -> list[Item]:
        today = self.context.now.date()
        last = days_later(today, SOON)
        items = []
        for due in self._dues:
            if due.foreign and section_of(due, today.isoformat(), last):
                day = (due.due or due.at).replace("T", " ")
                is_unfiled = due.path.startswith(f"{self.context.folder}/{INBOX}/")
                where = "in the inbox, not filed yet" if is_unfiled else "from outside"
                text = f"needs your approval ({where}, due {day}): {words_of(due)}"
                items.append(Item(
                    approval_id(due.id), "review", text, source=place_of(due), title=title_of(due),
                    rank=_RANK["approve"], private=due.private, asks=True,
                ))  # fmt: skip
        for memory in person_facts.procedural(self._memories):
            id_ = approval_id(memory.id)
            if is_foreign(origin(memory.own)) and not is_closed(self._answers, id_):
                writer = memory.text("agent") or "another source"
                text = f"needs your approval (a preference from {writer}): {self._content(memory)}"
                items.append(_item_of(memory, "approve", id_, text))
        return items

    def _to_remember(self) -> list[Item]:
        context = self.context
        proposed = person_facts.proposed_facts(
            context.catalog, context.vault, context.folder, self._answers
        )
        zone = context.now.tzinfo
        return [
            _item(
                "remember",
                fact.question,
                fact.as_question(local_time(fact.created, zone)[:10]),
                fact.path,
            )
            for fact in proposed
        ]

    def _contradictions(self) -> list[Item]:
        by_id = {memory.id: memory for memory in self._memories}
        paths = {id_: memory.path for id_, memory in by_id.items()}
        rows = (row for row in self._findings if row["kind"] == CONTRADICTION)
        items = []
        for finding in noticed(rows, paths):
            newer, older = (by_id[id_] for id_ in finding["ids"])
            text = f"{finding['said']}; vaultmem delete {older.id[:8]} archives the older one"
            subject = older if is_private(older.own) else newer  # the words are of both
            items.append(_item_of(subject, CONTRADICTION, finding_id(finding), text))
        return items

    def _from_jobs(self, kind: str, advice: str = "") -> list[Item]:
        mine = (finding for finding in self._findings if finding.get("kind") == kind)
        return [_item(kind, halted_id(finding), f"{finding['said']}{advice}") for finding in mine]

    def _leaving(self) -> list[Item]:
        notices = [finding for finding in self._findings if finding.get("kind") in LEAVING]
        by_id = {each.id: each for each in self._memories} if notices else {}
        items = []
        for notice in sorted(notices, key=lambda one: str(one["leaves"])):
            if memory := by_id.get(notice["ids"][0]):
                text = f"leaves on {notice['leaves']}; tick to keep it: {self._content(memory)}"
                items.append(_item_of(memory, "leaving", leaving_id(notice), text))
        return items

    @cached_property
    def _doable(self) -> list[tuple[Proposal, str]]:
        return list(review_sources.doable(self.context, self._answers))

    @cached_property
    def _advice(self) -> list[Item]:
        """What a model proposes, for the count: vaultmem review shows it with its reasons."""
        ids = review_sources.open_advice(self.context, self._answers)
        return [_item("advice", proposal_id(id_), "") for id_ in ids]

    def _file_problems(self) -> dict[str, list[Item]]:
        context = self.context
        every = review_sources.file_problems(context.catalog, context.folder, context.page)
        return {
            kind: [
                _item(kind, item_id(path, _KEYS.get(kind, kind)), text, path, file_name(path))
                for path, text in problems
            ]
            for kind, problems in every.items()
        }

    def _inbox(self) -> list[Item]:
        """One line for memories in the inbox since yesterday or longer; it returns with the next one."""
        now = self.context.now
        old = _waiting(self._memories, now.date().isoformat(), now.tzinfo)
        if not old:
            return []
        count = plural(len(old), "memory waits", "memories wait")
        text = f"{count} in the inbox: vaultmem list --phase inbox"
        return [_item("inbox", item_id("inbox", "\0".join(max(old))), text)]


@remembers_last
def _waiting(memories: Sequence[Note], today: str, zone: tzinfo | None) -> list[tuple[str, str]]:
    """The days and ids of memories in the inbox since before today."""
    inbox = (memory for memory in memories if memory.category == INBOX)
    days = ((local_time(memory.own.get("created_at"), zone)[:10], memory.id) for memory in inbox)
    return [pair for pair in days if pair[0] < today]


def _item(kind: str, id_: str, text: str, source: str = "", title: str = "") -> Item:
    asks = kind in (*_QUESTIONS, "leaving")
    return Item(id_, "review", text, source=source, title=title, rank=_RANK[kind], asks=asks)


def _item_of(memory: Note, kind: str, id_: str, text: str) -> Item:
    """An item about a memory; a private one has no title on the page, which assistants can read."""
    private = is_private(memory.own)
    item = _item(kind, id_, text, memory.path, "" if private else memory.title)
    item.private = private
    return item


def _summarize_many(items: list[Item], text: str) -> list[Item]:
    """The items of one kind, or one line that counts many; a tick on it holds until there are others."""
    if len(items) <= MOST:
        return items
    key = "\0".join(sorted(item.id for item in items))
    rank = min(item.rank for item in items)
    return [Item(item_id(text, key), "review", text.format(f"{len(items):,}"), rank=rank)]


def _preference_id(memory: Note) -> str:
    return item_id(memory.id, "preference")
