"""What conversations learned about the person that no memory says yet: proposed as memories, one tick away."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

from vaultmem.index.catalog import NOTES_BELOW, Catalog, below
from vaultmem.memories import model
from vaultmem.memories.conversation import MEMORY, entry_of
from vaultmem.memories.importance import memory_type
from vaultmem.memories.model import PASSING, TYPES, is_private
from vaultmem.memories.short_texts import CAP, is_about_person
from vaultmem.memories.supersede import REPLACES, relations
from vaultmem.reminders.answers import DONE, DROPPED, Answer, closed
from vaultmem.reminders.pending_items import is_approved
from vaultmem.reminders.pending_page import item_id
from vaultmem.text.secrets import redact
from vaultmem.text.similarity import content_hash, topic_words
from vaultmem.text.times import seconds
from vaultmem.vault import files, pages
from vaultmem.vault.places import ENTRIES, named

MOST = 100  # facts that are compared with memories, the newest; answers bring up the others
COMPARED = 5  # memories for each
SHARED = 0.5  # of the words of the shorter text, from which two may say the same
_OF_US = (
    "We ",
    "We've ",
    "We're ",
    "Our ",
    "我们家",
)  # said in a chat, it is of the person and theirs
_READ = 65_536  # bytes of a note that are looked at
_NOTES = f"SELECT f.path, f.hash, n.id, n.title, n.dialect, n.properties {NOTES_BELOW} AND n.properties IS NOT NULL"
_FACTS = f"{_NOTES} AND f.path LIKE '%/facts/%' AND n.properties NOT LIKE '%compression_source%'"


class Learned(NamedTuple):
    """A fact of a conversation that may be remembered. Facts that say the same words are one question."""

    id: str
    question: str  # the id of the item that asks whether to remember it
    note: int  # its number in the catalog
    path: str
    conversation: str
    content: str
    created: float

    def asked(self, day: str) -> str:
        """The question as the page puts it, where the fact was learned on that day."""
        return f"remember? {self.content} (from the chat {self.conversation} on {day})"


class _Known(NamedTuple):
    """Something that makes a proposal needless: a memory, or what was refused."""

    content: str
    created: float


def learned(catalog: Catalog, root: str, folder: str) -> list[Learned]:
    """All facts of conversations that are lasting, about the person and not private, the newest first."""
    found: list[Learned] = []
    rows = catalog.db.execute(_FACTS, below(f"{folder}/{ENTRIES}")).fetchall()
    for path, digest, note, _, dialect, properties in rows:
        own = named(json.loads(properties))
        conversation, role = entry_of(path[len(folder) + 1 :], own)
        id_ = str(own.get("id") or "")
        if not (conversation and id_) or role != MEMORY or is_private(own):
            continue
        text = " ".join(_content(root, path, dialect, digest).split())
        if _is_worth_asking(text, own.get("memory_type")):
            created = seconds(own.get("created_at")) or 0.0
            found.append(Learned(id_, question(text), note, path, conversation, text, created))
    return sorted(found, key=lambda one: (-one.created, one.path))


def question(text: str) -> str:
    """The id of the question whether to remember a statement, in whatever conversation it was made."""
    return item_id(content_hash(text.casefold()), "remember")


def proposed(
    catalog: Catalog, root: str, folder: str, answers: Mapping[str, Answer], paths: Collection[str] | None = None
) -> list[Learned]:  # fmt: skip
    """Those the person has not answered, and that neither a memory says nor something that was refused; only those at
    `paths`, if these are given."""
    found = learned(catalog, root, folder)
    waiting = [one for one in undecided(found, answers) if paths is None or one.path in paths]
    if not waiting:
        return []
    refused = [one for one in found if _state(answers, one) == DROPPED]
    refusals = [_Known(one.content, one.created) for one in refused]
    near = _near(catalog, root, folder)
    return [
        one
        for one in waiting[:MOST]
        if not any(_says(each, one) for each in (*near.known(one, answers), *refusals))
    ]


def undecided(found: Iterable[Learned], answers: Mapping[str, Answer]) -> list[Learned]:
    """Those that the person has not answered."""
    return [one for one in found if not closed(answers, one.question)]


def answered(found: Iterable[Learned], answers: Mapping[str, Answer], root: str) -> list[Learned]:
    """Those that the person wants to be remembered, and that still are facts of a conversation: the index may not
    know yet that one was put away."""
    wanted = (one for one in found if _state(answers, one) == DONE)
    return [one for one in wanted if os.path.lexists(f"{root}/{one.path}")]


def content(root: str, path: str, dialect: str) -> str:
    """What a note of the memory folder says, without its properties."""
    style = pages.OUTLINE if dialect == "logseq" else "frontmatter"
    return pages.read(style, files.read(root, path, _READ).text).content.strip()


@lru_cache(4096)
def _content(root: str, path: str, dialect: str, digest: bytes | None) -> str:  # noqa: ARG001 - another one is another text
    return content(root, path, dialect)


def _state(answers: Mapping[str, Answer], one: Learned) -> str:
    found = answers.get(one.question)
    return found.state if found else ""


def _is_worth_asking(text: str, kind: object) -> bool:
    """Whether it states something lasting about the person, without a secret."""
    if not (is_about_person(text) or text.startswith(_OF_US)) or len(text) > CAP:
        return False
    kind = kind if isinstance(kind, str) and kind in TYPES else memory_type(text)
    return kind not in PASSING and "[redacted: " not in redact(text)[0]


def _says(known: _Known, fact: Learned) -> bool:
    """Whether what is known is likelier than not to say what a fact says, or says something newer of the same thing."""
    (found,) = relations(fact.content, [known.content])
    if found.same > max(0.0, found.replaces):
        return True
    newer = known.created > fact.created
    return newer and relations(known.content, [fact.content])[0].kind == REPLACES


class _Near:
    """Memories by the words of their titles, which are what they say."""

    def __init__(self, catalog: Catalog, root: str, folder: str) -> None:
        self.version = catalog.version()
        self._root = root
        self._rows: list[Sequence[object]] = []
        self._words: list[frozenset[str]] = []
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        inside = f"{folder}/{ENTRIES}/"
        for row in catalog.db.execute(_NOTES, below(folder)).fetchall():
            if not row[0].startswith(inside):
                for word in (words := topic_words(row[3])):
                    self._having[word].append(len(self._rows))
                self._rows.append(row)
                self._words.append(words)

    def known(self, fact: Learned, answers: Mapping[str, Answer]) -> list[_Known]:
        """Memories that may say the same as a fact."""
        words = topic_words(fact.content)
        shared = Counter(number for word in words for number in self._having.get(word, ()))
        near = [
            number
            for number, count in shared.most_common()
            if count >= SHARED * min(len(words), len(self._words[number]))
        ]
        found = (self._read(self._rows[number], answers) for number in near[:COMPARED])
        return [one for one in found if one is not None]

    def _read(self, row: Sequence[object], answers: Mapping[str, Answer]) -> _Known | None:
        """What a memory says that anybody may be told of."""
        path, digest, _, _, dialect, properties = row
        own = named(json.loads(str(properties)))
        outside = model.origin(own).outside and not is_approved(str(own.get("id")), answers)
        if outside or model.scope_of(own, memory=True) != model.EVERYBODY:
            return None
        text = _content(self._root, str(path), str(dialect), digest)
        return _Known(text[:CAP], seconds(own.get("created_at")) or 0.0)


_nears: WeakKeyDictionary[Catalog, _Near] = WeakKeyDictionary()


def _near(catalog: Catalog, root: str, folder: str) -> _Near:
    """The memories of a catalog, gathered again when it has changed."""
    found = _nears.get(catalog)
    if found is None or found.version != catalog.version():
        found = _nears[catalog] = _Near(catalog, root, folder)
    return found
