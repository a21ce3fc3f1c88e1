"""Facts about the person: those that an assistant gets at its start, and those that conversations learned and no
memory has yet, which are proposed as memories."""

from __future__ import annotations

import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

from vaultmem.adapter import Properties, Value
from vaultmem.dreams import paraphrase
from vaultmem.dreams.short_texts import CAP, is_about_person, memory_type
from vaultmem.dreams.supersede import REPLACES, relations
from vaultmem.index.catalog import NOTES_BELOW, Catalog, below
from vaultmem.ledger import reads
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access, item_answers
from vaultmem.memories.access import OWN, Origin, is_private
from vaultmem.memories.conversation import MEMORY, entry_of
from vaultmem.memories.model import PASSING, TYPES
from vaultmem.notes import pages
from vaultmem.notes.places import ENTRIES, INBOX, OUTLINE, REMINDERS, category_of, with_our_keys
from vaultmem.text.sanitize import one_line
from vaultmem.text.secrets import redact
from vaultmem.text.similarity import content_hash, topic_words
from vaultmem.text.times import seconds
from vaultmem.text.values import EVERYBODY, interleave, remembers_last, value
from vaultmem.vault import files

if TYPE_CHECKING:
    from vaultmem.pending.listing import Fact
    from vaultmem.pending.review_items import Context

_READ = 65_536  # bytes examined of a note
_NOTES = f"SELECT n.id, f.path, f.hash, n.title, n.dialect, n.properties {NOTES_BELOW} AND n.properties IS NOT NULL"


NoteRow = tuple[int, str, bytes, str, str, str]


@value
class Note:
    """A note of the memory folder, from the catalog. Parsing its properties takes a while."""

    number: int  # its number in the catalog
    path: str
    hash: bytes
    title: str
    dialect: str
    raw: str  # its properties, as JSON
    folder: str  # the memory folder

    @cached_property
    def own(self) -> dict[str, Value]:
        """Its properties in our spelling."""
        return with_our_keys(json.loads(self.raw))

    @cached_property
    def id(self) -> str:
        """Its id; "" for none."""
        return self.text("id")

    @property
    def inner(self) -> str:
        """Its path in the memory folder."""
        return self.path[len(self.folder) + 1 :]

    @cached_property
    def category(self) -> str:
        """Its category."""
        return category_of(self.inner, self.own.get("category"))

    def text(self, key: str) -> str:
        """A text property; "" if missing."""
        text = self.own.get(key)
        return text.strip() if isinstance(text, str) else ""


def notes(
    catalog: Catalog, folder: str, condition: str = "", *values: str, place: str = ""
) -> list[Note]:
    """The notes of the memory folder, or of a place in it, with properties that meet a condition in SQL."""
    return [
        Note(*row, folder) for row in note_rows(catalog, f"{folder}{place}", condition, *values)
    ]


def note_rows(catalog: Catalog, place: str, condition: str = "", *values: str) -> list[NoteRow]:
    """The rows of the catalog that these notes are made of."""
    return catalog.db.execute(f"{_NOTES} {condition}", (*below(place), *values)).fetchall()


@remembers_last
def living(rows: Sequence[NoteRow], folder: str) -> list[Note]:
    """Those that are memories: with an id, and no entries of conversations."""
    every = (Note(*row, folder) for row in rows)
    return [note for note in every if note.id and not note.inner.startswith(f"{ENTRIES}/")]


@remembers_last
def procedural(memories: Iterable[Note]) -> list[Note]:
    """The filed memories that say how to do things in every project."""
    return [memory for memory in memories if _is_preference(memory)]


def _is_preference(memory: Note) -> bool:
    if memory.category in (INBOX, REMINDERS) or memory.text("project"):
        return False
    return memory.category == "preferences" or memory.text("memory_type") == "procedural"


def style_of(dialect: str, path: str = "") -> str:  # noqa: ARG001 - as readers ask
    """The page style of a dialect."""
    return OUTLINE if dialect == "logseq" else "frontmatter"


def content(root: str, path: str, dialect: str) -> str | None:
    """The content of a note of the memory folder, without its properties; None if it is private, perhaps since it was
    indexed."""
    page = pages.read(style_of(dialect), files.read(root, path, _READ).text)
    return None if is_private(page.properties) else page.content.strip()


@lru_cache(4096)
def _content(root: str, path: str, dialect: str, digest: bytes) -> str:  # noqa: ARG001 - another one is another text
    return content(root, path, dialect) or ""


# --- Facts for an assistant's start

MOST = 12  # per subject and reader
OF_PERSON = ("soul", "character", "people", "habits", "feedback")  # categories about the person
_DOUBLED = 30.0  # days that each doubling of its uses makes a memory newer


class _Scored(NamedTuple):
    score: float
    created: float
    note: Note
    fact: Fact


def facts(context: Context, answers: item_answers.Answers) -> list[Fact]:
    """The most used and newest facts about the person ("") or each project: not private, replaced or ended, and
    outside content only if approved. Their scope says who sees them."""
    groups: defaultdict[tuple[str, str, str], list[_Scored]] = defaultdict(list)
    counts = use_counts(context)
    for note in notes(context.catalog, context.folder):
        if not _may_qualify(note):
            continue  # most of them
        properties = note.own
        fact = _fact(context, note, answers)
        scope = fact and scope_for(fact["scope"], fact["author"], context.trust)
        if fact and scope:
            fact = {**fact, "scope": scope}
            created = seconds(properties.get("created_at")) or 0.0
            score = created / 86_400 + _DOUBLED * math.log2(
                1 + uses_of(properties, fact["id"], counts)
            )
            groups[fact["project"].casefold(), scope, fact["author"]].append(
                _Scored(score, created, note, fact)
            )
    best = [each for group in groups.values() for each in _most_used_and_newest(group)[:MOST]]
    chosen: list[Fact] = []
    for _, _, note, fact in _most_used_and_newest(best):
        text = content(context.vault, note.path, note.dialect)
        if text is not None:
            text = one_line(redact(text or fact["text"]).text)  # sent at every start
            chosen.append({**fact, "text": text, "author": one_line(fact["author"])})
    return chosen


def _may_qualify(note: Note) -> bool:
    """Whether a memory may be about the person or a project; a cheap check of its properties."""
    if note.inner.startswith(f"{ENTRIES}/"):
        return False
    words = f"{note.inner.partition('/')[0]} {note.raw.lower()}"
    kinds = "project", "procedural", *OF_PERSON
    return is_about_person(note.title) or any(word in words for word in kinds)


def _most_used_and_newest(facts: Iterable[_Scored]) -> list[_Scored]:
    """Alternately the most used and the newest."""
    ranked = sorted(facts, key=lambda fact: (-fact.score, fact.note.path))
    newest = sorted(ranked, key=lambda one: -one.created)
    return interleave(ranked, newest, key=lambda one: one.note.path)


def uses_of(properties: Properties, id_: str, counts: Mapping[str, int]) -> int:
    """How often a memory was used, according to this machine's ledger or its file."""
    uses = counts.get(id_, properties.get("access_count"))
    return max(0, uses) if isinstance(uses, int) else 0


def _fact(context: Context, note: Note, answers: item_answers.Answers) -> Fact | None:
    """A memory as assistants see it; None if they may not."""
    properties, category, title = note.own, note.category, note.title
    id_, project = str(properties.get("id") or ""), note.text("project")
    kind = properties.get("memory_type")
    if kind in PASSING or category == REMINDERS or _is_preference(note):
        return None  # passing ones, and those among preferences and pending items
    if not (project or kind == "procedural" or category in OF_PERSON or is_about_person(title)):
        return None
    ends, now = seconds(properties.get("expires_at")), context.now.timestamp()
    zone = context.now.tzinfo
    # Without an end it was restored.
    is_replaced = properties.get("replaced_by") and properties.get("until")
    if (
        not id_
        or is_private(properties)
        or is_replaced
        or properties.get("compressed") is True
        or (ends and ends <= now)
    ):
        return None
    origin, approved = access.origin(properties), item_answers.is_approved(id_, answers)
    if not item_answers.is_believed(id_, answers, foreign=origin.outside):
        return None
    return {
        "id": id_, "text": title, "day": local_time(properties.get("created_at"), zone)[:10],
        "author": "" if approved else origin.writer, "scope": access.scope_of(properties, memory=True),
        "project": project, "ends": local_time(ends, zone), "source": note.path,
    }  # fmt: skip


@lru_cache(1024)
def scope_for(scope: str, author: str, trust: str) -> str:
    """The scope of its readers; "" for none, as for memories of assistants if recall.trust is own."""
    if not author or access.is_trusted(Origin(author), access.viewer("?"), trust):
        return scope
    mine = access.viewer(author)
    return mine.scope if trust == OWN and scope in (EVERYBODY, mine.scope) else ""


def local_time(moment: object, zone: tzinfo | None) -> str:
    """The local minute of a stamp, or of a time in seconds; "" for none."""
    at = moment if isinstance(moment, float) else seconds(moment)
    return "" if at is None else datetime.fromtimestamp(at, UTC).astimezone(zone).isoformat()[:16]


def use_counts(context: Context) -> dict[str, int]:
    """How often each memory was used, by id."""
    return {id_: count.number for id_, count in reads.counts(context.ledger).items()}


# --- Facts learned in conversations

MOST_COMPARED = 100  # newest facts; the others come up as these are answered
CANDIDATES = 5  # memories compared with each
SHARED = 0.5  # share of the shorter text's words above which two may say the same
# Words in a chat about the person and theirs.
_OF_US = ("we ", "we've ", "we're ", "our ", "我们家")
_OF_CHATS = "AND f.path LIKE '%/facts/%' AND n.properties NOT LIKE '%compression_source%'"


class Learned(NamedTuple):
    """A fact of a conversation that may be remembered. Facts with the same words are one question."""

    id: str
    question: str  # the id of the question whether to remember it
    note: int  # its number in the catalog
    path: str
    conversation: str
    content: str
    created: float

    def as_question(self, day: str) -> str:
        """The question on the page, for a fact learned on that day."""
        return f"remember? {self.content} (from the chat {self.conversation} on {day})"


class _Known(NamedTuple):
    """A memory or refusal that makes a proposal unnecessary."""

    content: str
    created: float


def learned_facts(catalog: Catalog, root: str, folder: str) -> list[Learned]:
    """All lasting, non-private facts about the person from conversations, newest first."""
    every: list[Learned] = []
    for note in notes(catalog, folder, _OF_CHATS, place=f"/{ENTRIES}"):
        properties = note.own
        conversation, role = entry_of(note.inner, properties)
        id_ = str(properties.get("id") or "")
        if not (conversation and id_) or role != MEMORY or is_private(properties):
            continue
        text = " ".join(_content(root, note.path, note.dialect, note.hash).split())
        if _is_worth_asking(text, properties.get("memory_type")):
            created = seconds(properties.get("created_at")) or 0.0
            question = item_answers.item_id(content_hash(text.casefold()), "remember")
            fact = Learned(id_, question, note.number, note.path, conversation, text, created)
            every.append(fact)
    return sorted(every, key=lambda one: (-one.created, one.path))


def proposed_facts(
    catalog: Catalog, root: str, folder: str, answers: item_answers.Answers, paths: Collection[str] | None = None
) -> list[Learned]:  # fmt: skip
    """Facts without an answer and not covered by a memory or refusal; only of `paths`, if given."""
    every = learned_facts(catalog, root, folder)
    open_ = [
        fact for fact in undecided_facts(every, answers) if paths is None or fact.path in paths
    ]
    if not open_:
        return []
    refused = [
        _Known(fact.content, fact.created)
        for fact in every
        if item_answers.state_of(answers, fact.question) == item_answers.DROPPED
    ]
    near = _near(catalog, root, folder)
    return [
        fact
        for fact in open_[:MOST_COMPARED]
        if not any(_says(statement, fact) for statement in (*near.known(fact, answers), *refused))
    ]


def undecided_facts(facts: Iterable[Learned], answers: item_answers.Answers) -> list[Learned]:
    """Facts that the person has not answered."""
    return [fact for fact in facts if not item_answers.is_closed(answers, fact.question)]


def to_promote(context: Context, answers: item_answers.Answers) -> list[Learned]:
    """Facts that the person wants remembered, and whose file exists: the index may be behind."""
    every = learned_facts(context.catalog, context.vault, context.folder)
    promoted = (
        fact for fact in every if item_answers.state_of(answers, fact.question) == item_answers.DONE
    )
    return [fact for fact in promoted if os.path.lexists(f"{context.vault}/{fact.path}")]


def _is_worth_asking(text: str, kind: object) -> bool:
    if not (is_about_person(text) or text.lower().startswith(_OF_US)) or len(text) > CAP:
        return False
    kind = kind if isinstance(kind, str) and kind in TYPES else memory_type(text)
    return kind not in PASSING and "[redacted: " not in redact(text).text


def _says(statement: _Known, fact: Learned) -> bool:
    """Whether the known text probably says what a fact says, or something newer about the same thing."""
    (relation,) = relations(fact.content, [statement.content])
    if paraphrase.score(statement.content, fact.content) > max(0.0, relation.replaces):
        return True
    newer = statement.created > fact.created
    return newer and relations(statement.content, [fact.content])[0].kind == REPLACES


class _Near:
    """Memories by the words of their titles, which state them."""

    def __init__(self, catalog: Catalog, root: str, folder: str) -> None:
        self.version = catalog.version()
        self._root = root
        self._notes: list[Note] = []
        self._words: list[frozenset[str]] = []
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        for note in notes(catalog, folder):
            if not note.inner.startswith(f"{ENTRIES}/"):
                words = topic_words(note.title)
                for word in words:
                    self._having[word].append(len(self._notes))
                self._notes.append(note)
                self._words.append(words)

    def known(self, fact: Learned, answers: item_answers.Answers) -> list[_Known]:
        """Memories that may say the same as a fact, and that anyone may see."""
        words = topic_words(fact.content)
        shared = Counter(number for word in words for number in self._having.get(word, ()))
        near = [
            number
            for number, count in shared.most_common()
            if count >= SHARED * min(len(words), len(self._words[number]))
        ]
        statements = []
        for note in (self._notes[number] for number in near[:CANDIDATES]):
            properties = note.own
            outside = access.origin(properties).outside and not item_answers.is_approved(
                str(properties.get("id")), answers
            )
            if not outside and access.scope_of(properties, memory=True) == EVERYBODY:
                text = _content(self._root, note.path, note.dialect, note.hash)
                statements.append(_Known(text[:CAP], seconds(properties.get("created_at")) or 0.0))
        return statements


_nears: WeakKeyDictionary[Catalog, _Near] = WeakKeyDictionary()


def _near(catalog: Catalog, root: str, folder: str) -> _Near:
    near = _nears.get(catalog)
    if near is None or near.version != catalog.version():
        near = _nears[catalog] = _Near(catalog, root, folder)
    return near
