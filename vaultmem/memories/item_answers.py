"""A person's answers to pending items, and thus which outside content may be trusted.

Every item has an id of its own, the same on every machine. What assistants may be told, and what is kept or archived,
depends on these answers, so this module is below search and reminders.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache, lru_cache

from vaultmem.adapter import Properties
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access
from vaultmem.notes.places import key_of, with_our_keys

if TYPE_CHECKING:
    import hashlib

    from vaultmem.api.memory_vault import MemoryVault
    from vaultmem.history.commits import Commit
    from vaultmem.memories.draft import Finding
    from vaultmem.memories.reports import Skipped
    from vaultmem.memories.store import Session
    from vaultmem.vault.batch_record import AnswerChange, Header

OPEN, DONE, DROPPED, SNOOZED = "open", "done", "dropped", "snoozed"
YOU = "you"
MOST_SNOOZED = 60  # days since the first occurrence that are looked at
MOST_REMEMBERED = 5000  # ids: an agent looks for what rings again and again
_SHORTEST_ID = 6
_LONGEST_ID = 55  # of content


class Answer(NamedTuple):
    """The last answer to one item."""

    id: str  # the item's, vm-…
    state: str  # DONE, DROPPED, SNOOZED, or OPEN: an answer was taken back
    at: str  # when, UTC: 2026-11-22T10:00:00Z
    by: str = YOU  # or the name of an assistant
    until: str = ""  # end of a snooze: an ISO day, or day and minute
    text: str = ""  # what it was about, in one line


Answers = Mapping[str, Answer]


def state_of(answers: Answers, id_: str) -> str:
    """The last answer to the item, or OPEN."""
    return answers[id_].state if id_ in answers else OPEN


def is_closed(answers: Answers, id_: str) -> bool:
    """Whether the item is done or dropped."""
    return state_of(answers, id_) in (DONE, DROPPED)


def is_asleep(answer: Answer | None, now: str) -> bool:
    """Whether the item is still snoozed; `now` is local, YYYY-MM-DDTHH:MM."""
    if answer is None or answer.state != SNOOZED:
        return False
    return answer.until > (now[:10] if len(answer.until) == 10 else now)


# --- Ids


def item_id(source: str, key: str) -> str:
    """The id of the thing that `key` names in `source`: the first base32 letters of a SHA-256."""
    return f"vm-{_digest(source, key)[:_SHORTEST_ID]}"


def carried_out_id(id_: str) -> str:
    """The id of the record, for all machines, that an answer was carried out."""
    return item_id(id_, "carried out")


def item_ids(named: Sequence[tuple[str, str]]) -> list[str]:
    """Unique ids for sources and keys, in order, whatever order they come in: if two begin alike, the lower digest
    keeps the short form. A repeated pair counts as another thing."""
    seen: Counter[tuple[str, str]] = Counter()
    digests = []
    for pair in named:
        source, key = pair
        digests.append(_digest(source, f"{key}\0{seen[pair]}" if seen[pair] else key))
        seen[pair] += 1
    short: dict[str, str] = {}
    for digest in sorted(digests):
        length = _SHORTEST_ID
        while digest[:length] in short:
            length += 1
        short[digest[:length]] = digest
    by_digest = {digest: beginning for beginning, digest in short.items()}
    return [f"vm-{by_digest[digest]}" for digest in digests]


@lru_cache(MOST_REMEMBERED)
def _digest(source: str, key: str) -> str:
    sha256, b32encode = _hashing()
    data = f"{source}\0{key}".encode("utf-8", "surrogatepass")
    return b32encode(sha256(data).digest()[:10]).decode("ascii").lower()


@cache
def _hashing() -> tuple[Callable[[bytes], hashlib._Hash], Callable[[bytes], bytes]]:
    """What makes an id. Start-up hooks import this module but make none; every due item has several."""
    from base64 import b32encode
    from hashlib import sha256

    return sha256, b32encode


def approval_id(id_: str) -> str:
    """The id of the question whether outside content may be trusted."""
    return item_id(id_, "approve")


def content_id(text: str) -> str:
    """The id of the question whether a note from elsewhere may be trusted as long as it says exactly this: with the
    whole digest, so that nobody can write another text that has it."""
    sha256, b32encode = _hashing()
    digest = b32encode(sha256(text.encode("utf-8", "surrogatepass")).digest())
    return f"vm-{digest.decode('ascii').rstrip('=').lower()}"


def is_of_content(id_: str) -> bool:
    """Whether it is a content_id()."""
    return len(id_) == _LONGEST_ID and id_.startswith("vm-")


def proposal_id(id_: str) -> str:
    """The id of the question whether to carry out a proposal."""
    return item_id(id_, "proposal")


def is_decided(proposal: str, answers: Answers) -> bool:
    """Whether a proposal is rejected, or accepted and carried out since."""
    answer = answers.get(proposal_id(proposal))
    if answer is None or answer.state not in (DONE, DROPPED):
        return False
    return answer.state == DROPPED or is_carried_out(answer, carried_out_id(answer.id), answers)


def is_carried_out(answer: Answer, mark: str, answers: Answers) -> bool:
    """Whether the record of that id says that an answer was carried out."""
    return mark in answers and answers[mark].at >= answer.at


def reminds_at(memory: str, remind: str, repeat: str, answers: Answers) -> str:
    """When the reminder with these properties is due: then, or at the end of its snooze. Of one that repeats, each day
    since then may be the snoozed occurrence."""
    from datetime import date, timedelta  # few memories are reminders

    ends = {id_: one.until for id_, one in answers.items() if one.state == SNOOZED}
    day, clock, days = remind[:10], remind[10:].replace(" ", "T"), [remind[:10]]
    if ends and repeat:
        with suppress(ValueError, OverflowError):  # it is no date, or the last ones of the calendar
            first = date.fromisoformat(day)
            days += [str(first + timedelta(step)) for step in range(1, MOST_SNOOZED)]
    ids = [item_id(memory, f"\0{each}{clock}") for each in days]
    return max((ends[id_] for id_ in ids if id_ in ends), default=remind)


def snoozed_since(answers: Answers) -> list[Answer]:
    """The snoozes of items whose earlier answer, from another machine, was carried out."""
    snoozes = (answer for answer in answers.values() if answer.state == SNOOZED)
    return [answer for answer in snoozes if carried_out_id(answer.id) in answers]


def completion_id(path: str) -> str:
    """The id of the question, one per note, whether to tick its done tasks in the note, too."""
    return item_id(path, "complete")


def halted_id(finding: Finding) -> str:
    """The id of a job's request for confirmation."""
    return item_id(finding["subject"], f"halted\0{finding['at']}")


def finding_id(finding: Finding) -> str:
    """The id of a dream's finding about two memories, by their ids."""
    newer, older = finding["ids"]
    return item_id(newer, f"{finding['kind']}\0{older}")


def leaving_id(finding: Finding) -> str:
    """The id of the notice that a memory will be archived."""
    return item_id(finding["ids"][0], f"leaving\0{finding['leaves']}")


UNDONE = "undone: "  # how the words of such answers begin


def undone_id(id_: str, path: str, hash_: str) -> str:
    """The id by which machines know that a memory is as an undo left it, so that no job repeats what was undone."""
    return item_id(id_, f"undone\0{path}\0{hash_}")


# --- What may be trusted


def is_approved(id_: str, answers: Answers) -> bool:
    """Whether the person has approved outside content."""
    return is_granted(approval_id(id_), answers)


def is_text_approved(text: str, answers: Answers) -> bool:
    """Whether the person has approved a note from elsewhere with this text."""
    return is_granted(content_id(text), answers)


def is_granted(question: str, answers: Answers) -> bool:
    """Whether the person has approved what a question is about, an approval_id() or content_id(). A line naming anyone
    else, on whatever page, does not count."""
    answer = answers.get(question)
    return answer is not None and answer.state == DONE and answer.by == YOU


def is_believed(id_: str, answers: Answers, *, foreign: bool) -> bool:
    """Whether it may be shown: outside content if approved, anything else unless refused."""
    is_refused = state_of(answers, approval_id(id_)) == DROPPED
    return is_approved(id_, answers) if foreign else not is_refused


def is_foreign(path: str, properties: Properties, folder: str) -> bool:
    """Whether a note's words are someone else's, and not those of an assistant that gives its name."""
    if not path.startswith(folder + "/"):
        if "clippings" in path.casefold().split("/")[:-1]:
            return True
        return any(key.lower() in ("source", "url") and value for key, value in properties.items())
    return with_our_keys(properties).get("phase") == "inbox" or access.is_foreign(
        origin_of(properties)
    )


def origin_of(properties: Properties) -> access.Origin:
    """The origin of a memory whose property names may be in any spelling."""
    return access.origin({key_of(key).lower(): value for key, value in properties.items() if value})


def origin_at(path: str, properties: Properties, folder: str) -> access.Origin:
    """The origin of a memory or another note. A source that is an assistant's name is its writer."""
    fields = with_our_keys(properties)
    origin = access.origin(fields)
    if memory_id(path, fields, folder):
        return origin
    rest = {key: value for key, value in fields.items() if key not in ("agent", "source")}
    return access.Origin(origin.writer, origin.outside or is_foreign(path, rest, folder))


def memory_id(path: str, properties: Properties, folder: str) -> str:
    """The id of a memory; "" for any other note."""
    id_ = properties.get("id")
    return id_ if isinstance(id_, str) and id_ and path.startswith(folder + "/") else ""


# Answers in entries of the history: recorded with their effects, and taken back.

MOST = 1_000  # entries searched for the last answer


def reason_of(state: str, until: str, text: str) -> str:
    """An answer in the words of the history: snoozed until 2026-12-05 09:00: call Anne."""
    limit = f" until {until.replace('T', ' ')}" if until else ""
    return f"{state}{limit}: {text}"[:200]


def history_answers(current: Answers, answers: Iterable[Answer]) -> tuple[AnswerChange, ...]:
    """New answers in the form of the history, given the previous ones."""
    from vaultmem.vault.batch_record import AnswerChange  # most callers only read answers

    results = []
    for answer in answers:
        last = current.get(answer.id)
        before = (last.state, last.until) if last else (OPEN, "")
        results.append(AnswerChange(answer.id, *before, answer.state, answer.until, answer.text))
    return tuple(results)


def answers_before(
    session: Session, commits: list[Commit]
) -> tuple[tuple[AnswerChange, ...], list[Skipped]]:
    """The previous answers to pending items; items answered again since are left out."""
    if not any(commit.answers for commit in commits):
        return (), []
    current = session.store.pending.record.answers()
    log = session.store.history.log(limit=MOST)
    own = {answer.id for entry in (*commits, *log) for answer in entry.answers}
    copies = _copies(current, own)
    now = {answer.id: (answer.state, answer.until) for answer in current.values()}
    back: list[AnswerChange] = []
    refused: list[Skipped] = []
    for answer in (answer for commit in commits for answer in reversed(commit.answers)):
        if now.get(answer.id, (OPEN, "")) == (answer.after, answer.after_until):
            ids = (answer.id, *copies.get(answer.id, ()))
            back += [answer.reversed()._replace(id=id_) for id_ in ids]
            now |= dict.fromkeys(ids, (answer.before, answer.before_until))
        elif now.get(answer.id, (OPEN, "")) != (answer.before, answer.before_until):
            refused.append(
                {"path": answer.id, "reason": f"{answer.text} ({answer.id}) was answered since"}
            )
    return tuple(back), refused


def _copies(current: Answers, own: AbstractSet[str]) -> dict[str, list[str]]:
    """By ids with an entry of their own, the other ids of the same answer, whose item has another one since its note
    was renamed: none of them has an entry."""
    same: defaultdict[Answer, list[str]] = defaultdict(list)
    for answer in current.values():
        same[answer._replace(id="")].append(answer.id)
    results: dict[str, list[str]] = {}
    for ids in (ids for ids in same.values() if len(ids) > 1):
        marks = {carried_out_id(id_) for id_ in ids}
        others = [id_ for id_ in ids if id_ not in own and id_ not in marks]
        results |= dict.fromkeys(own & {*ids}, others)
    return results


def keep_answers(session: Session, who: Header) -> None:
    """Record answers as in the history's entry; those that close an item count as carried out."""
    from vaultmem.text.times import stamp  # most callers only read answers

    at = stamp(session.now)
    answers: list[Answer] = []
    for answer in who.answers:
        answers.append(Answer(answer.id, answer.after, at, who.by, answer.after_until, answer.text))
        if answer.after in (DONE, DROPPED):
            answers.append(Answer(carried_out_id(answer.id), DONE, at, who.by, "", answer.text))
    if answers:
        session.store.pending.record.add(answers, [], session.now)


def keep_as_entry(session: Session, who: Header, answers: Sequence[Answer]) -> None:
    """Record answers without further effects as an entry of the history."""
    record = session.store.pending.record
    who = who._replace(answers=history_answers(record.answers(), answers))
    record.add(answers, [], session.now)
    session.store.apply(who, [])


def entry_of_answer(session: Session, id_: str, state: str) -> str | None:
    """The entry that last gave an item this answer, also as a redo, if it is in effect and there is a history. An undo
    of a later answer is none: to undo it would give that answer again."""
    if session.store.history.trouble():
        return None
    session.store.remember()
    done = session.store.history.log(limit=MOST)
    levels = levels_of(done)
    for entry in holding(done)[0]:
        has_it = any((answer.id, answer.after) == (id_, state) for answer in entry.answers)
        if has_it and not levels[entry.commit] % 2:
            return entry.commit
    return None


def levels_of(done: Sequence[Commit]) -> dict[str, int]:
    """0 for an entry that is a change, odd for an undo, even for a redo; they come newest first."""
    levels: dict[str, int] = {}
    for entry in reversed(done):
        levels[entry.commit] = 1 + max((levels.get(each, 0) for each in entry.undoes), default=-1)
    return levels


def holding(done: Iterable[Commit]) -> tuple[list[Commit], set[str]]:
    """The entries in effect, newest first, and those taken back."""
    taken_back: set[str] = set()
    holding = []
    for entry in done:
        if entry.commit not in taken_back:
            taken_back.update(entry.undoes)
            holding.append(entry)
    return holding, taken_back


def attributions(
    vault: MemoryVault, notes: Iterable[tuple[str, Properties]], to: access.Viewer
) -> dict[str, str]:
    """The attributions of memories and, for an assistant, of other notes, by path, given paths and properties. Most
    need none, and then nothing is read."""
    from vaultmem.text.sanitize import one_line  # not needed where answers are read

    folder = vault.config.text("memory_folder")
    texts: dict[str, str] = {}
    questions: dict[str, str] = {}
    for path, properties in notes:
        id_ = memory_id(path, properties, folder)
        text = access.attribution(origin_at(path, properties, folder), to) if id_ or to.name else ""
        if text:
            texts[path], questions[path] = one_line(text), approval_id(id_) if id_ else ""
    named = sorted(filter(None, questions.values()))
    approved = vault.ask("approved", ids=named)["approved"] if named else ()
    return {path: text for path, text in texts.items() if questions[path] not in approved}
