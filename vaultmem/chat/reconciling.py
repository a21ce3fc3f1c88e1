"""New facts against those that a conversation knows: added, in the place of others, or known already.

A model decides, if one is set; where it fails nothing is lost, and without one rules do what they can.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from vaultmem.api import Vault
from vaultmem.chat import reconcile
from vaultmem.chat.reconcile import Decisions, Existing
from vaultmem.errors import LlmError, NotWrittenError, VaultmemError
from vaultmem.languages.statements import statements
from vaultmem.llm.request import Model
from vaultmem.memories import importance
from vaultmem.memories.conversation import FACTS, MEMORY, Entry, derived_id, folder_of
from vaultmem.memories.model import is_private
from vaultmem.search.query import Filter
from vaultmem.search.recall_text import plain
from vaultmem.search.search import Ask
from vaultmem.text import secrets
from vaultmem.text.times import fine_stamp, seconds
from vaultmem.vault.places import ENTRIES

# Which of the facts that are known a new one may bear on: the few that a model, or a rule, then looks at.

_WORD = re.compile(r"[^\W_]+")
_BEGINNING = 5  # letters of a word by which its forms are taken for one
_HAN = re.compile(r"[\u3400-\u9fff]")
_DULL = frozenset(
    "the a an of in on at to and or is are was were be has have had user users s my their his her its it that this "
    "with for from not no".split()
)


def neighbours(
    known: Sequence[Entry], new: Sequence[str], found: Sequence[Sequence[str]], most: int
) -> list[Entry]:
    """At most so many of the facts, the likeliest first. `found` has for each new fact the ids that a search gave."""
    if len(known) <= most:
        return list(known)
    by_id = {one.id: one for one in known}
    about = {one.id: (_topics(one.content), telling_words(one.content)) for one in known}
    newest = [one.id for one in sorted(known, key=lambda one: -one.created)]
    rows: list[Sequence[str]] = []
    for number, text in enumerate(new):
        topics, words = _topics(text), telling_words(text)
        same = [id_ for id_ in newest if topics & about[id_][0]]
        shared = {id_: len(words & about[id_][1]) for id_ in newest}
        alike = sorted((id_ for id_ in newest if shared[id_]), key=lambda id_: -shared[id_])
        rows += [same, found[number] if number < len(found) else (), alike]
    rows.append(newest)
    chosen = (id_ for turn in zip_longest(*rows) for id_ in turn if id_ in by_id)
    return [by_id[id_] for id_ in list(dict.fromkeys(chosen))[:most]]


def _topics(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((one.subject, one.property) for one in statements(text))


def telling_words(text: str) -> frozenset[str]:
    """The words of a text that tell what it is about, in the forms by which they compare."""
    words = (word.casefold() for word in _WORD.findall(text))
    told = {word[:_BEGINNING] for word in words if word not in _DULL}
    return frozenset(told | set(_HAN.findall(text)))


NEWEST = 100  # facts; one turn has three, and in between others may have been added
Record = dict[str, object]


class Learned(NamedTuple):
    """What became of a turn, or of facts that were said outright."""

    conversation: str
    added: list[str]  # the texts of new facts
    updated: list[tuple[str, str]]  # the old text and the new one
    deleted: list[str]
    summary: bool  # whether one was written
    by_model: bool
    trouble: str  # why a model was set and not used, in one line
    turn: str = ""  # the id under which the turn was kept


class Source(NamedTuple):
    """Where facts come from."""

    conversation: str
    at: float
    turn: str = ""  # the id of the user's turn
    by: str | None = None  # the assistant that says them
    dry_run: bool = False


def entries(vault: Vault, conversation: str) -> list[Entry]:
    """All entries of a conversation that were not put away."""
    return [entry_of(one) for one in vault.entries(conversation)]


def newest_facts(vault: Vault, conversation: str) -> list[Entry]:
    """The newest facts, those that were put away among them."""
    found = vault.entries(conversation, [FACTS], deleted=True, limit=NEWEST)
    return [entry_of(one) for one in found]


def entry_of(record: Mapping[str, object]) -> Entry:
    """An entry from its record."""
    properties = record["properties"]
    return Entry(
        str(record["path"]), str(record["id"]), str(record["conversation_id"]), str(record["role"]),
        str(record["content"]), seconds(record["created_at"]) or 0.0, seconds(record["updated_at"]) or 0.0,
        properties if isinstance(properties, dict) else {}, record["deleted"] is True,
    )  # fmt: skip


def is_fact(one: Entry) -> bool:
    """Whether it is a fact, and not the summary of an old session."""
    return one.role == MEMORY and one.properties.get("compression_source") is not True


def take_in(
    vault: Vault, source: Source, said: Sequence[str], model: Model | None, known: Sequence[Entry] | None = None
) -> Learned:  # fmt: skip
    """Write facts down without their secrets, reconciled with those that the conversation knows."""
    said = list(dict.fromkeys(secrets.redacted(one).text for one in said))
    if not said:
        return Learned(source.conversation, [], [], [], False, model is not None, "")
    every = entries(vault, source.conversation) if known is None else known
    living = [one for one in every if is_fact(one) and not is_private(one.properties)]
    most = vault.config.number("conversations.neighbours")
    found = _searched(vault, source.conversation, said, most) if len(living) > most else []
    near = neighbours(living, said, found, most)
    decided, by_model, trouble = _decided(vault, said, near, model)
    written = _write(vault, source, decided)
    texts = {one.id: one.content for one in near}
    return Learned(
        source.conversation,
        list(decided.adds),
        _replaced(decided, texts),
        [texts.get(id_, "") for id_, instead in decided.deletes if instead is None],
        False, by_model, trouble or written,
    )  # fmt: skip


def _replaced(decided: Decisions, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """What was there, and what is in its place: one new fact may take that of several."""
    new = dict(decided.updates)
    also = [(id_, new[instead]) for id_, instead in decided.deletes if instead is not None]
    return [(texts.get(id_, ""), text) for id_, text in (*decided.updates, *also)]


def write_down(vault: Vault, source: Source, said: Sequence[str]) -> Learned:
    """Write facts down as they are, whatever the conversation knows."""
    texts = tuple(dict.fromkeys(said))
    trouble = _write(vault, source, Decisions(texts, (), ()))
    return Learned(source.conversation, list(texts), [], [], False, False, trouble)


def _decided(
    vault: Vault, said: Sequence[str], near: Sequence[Entry], model: Model | None
) -> tuple[Decisions, bool, str]:
    """What is to be done; whether a model said so; why it did not, if one is set."""
    existing = [Existing(one.id, one.content) for one in near]
    if model is None:
        return reconcile.by_rules(said, existing), False, ""
    strategy = vault.config.text("llm.strategy")
    if not existing:
        return reconcile.decisions(None, said, existing, strategy), True, ""
    try:
        answer = model.ask(reconcile.question(said, existing, strategy))
    except LlmError as error:
        return reconcile.decisions(None, said, existing, strategy), False, str(error)
    return reconcile.decisions(answer, said, existing, strategy), True, ""


def _searched(vault: Vault, conversation: str, said: Sequence[str], most: int) -> list[list[str]]:
    """For each fact the ids of the nearest ones by words and meaning, as far as an index knows them."""
    place = f"{vault.config.text('memory_folder')}/{ENTRIES}/{folder_of(conversation)}/{FACTS}/"
    found: list[list[str]] = []
    for text in said:
        try:
            answer = vault.answer(Ask(plain(text), most, True, "note", (Filter("path", place),)))
        except VaultmemError:  # not indexed yet: the words of the facts themselves have to do
            return []
        found.append([str(hit.properties.get("id")) for hit in answer.results])
    return found


def _write(vault: Vault, source: Source, decided: Decisions) -> str:
    """Carry the decisions out as one batch; why something known could not be put away, if so. Raises
    NotWrittenError where a new fact could not be written."""
    new = [_fact(source, text) for text in decided.adds]
    instead = {id_: _fact(source, text) for id_, text in decided.updates}
    new += instead.values()
    retire: list[Record] = [{"id": id_, "replaced_by": fact["id"]} for id_, fact in instead.items()]
    for id_, updated in decided.deletes:
        told = {} if updated is None else {"replaced_by": instead[updated]["id"]}
        retire.append({"id": id_, **told})
    if not new and not retire:
        return ""
    done = vault.converse(
        source.conversation, new=new, retire=retire, by=source.by, dry_run=source.dry_run,
        why=f"learned in conversation {source.conversation}",
    )  # fmt: skip
    ids = {fact["id"] for fact in new}
    lost = [reason for id_, reason in done["skipped"] if id_ in ids]
    if lost:
        raise NotWrittenError(f"a new fact cannot be kept: {lost[0]}")
    return "; ".join(reason for _, reason in done["skipped"])


def _fact(source: Source, text: str) -> Record:
    own = derived_id(source.turn, "fact", text) if source.turn else str(uuid.uuid4())
    return {
        "role": MEMORY, "id": own, "content": text, "created_at": fine_stamp(source.at),
        "of": [source.turn] if source.turn else [],
        "properties": {"memory_type": importance.memory_type(text)},
    }  # fmt: skip
