"""What a person has answered to pending items, and so what from outside may be believed.

Everything that can be answered has an id of its own, the same on every machine. What may be told to assistants, kept
or archived depends on such answers, so this stands below search and reminders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from vaultmem.adapter import Properties
from vaultmem.light import TYPE_CHECKING, NamedTuple
from vaultmem.memories import access
from vaultmem.notes.places import key_of, with_our_keys

if TYPE_CHECKING:
    from vaultmem.history.commits import Commit
    from vaultmem.memories.draft import Finding
    from vaultmem.memories.reports import Skipped
    from vaultmem.memories.store import Session
    from vaultmem.vault.batch_record import AnswerChange, Header

OPEN, DONE, DROPPED, SNOOZED = "open", "done", "dropped", "snoozed"
YOU = "you"
_SHORTEST_ID = 6


class Answer(NamedTuple):
    """The last word on one item."""

    id: str  # of the item, vm-…
    state: str  # DONE, DROPPED, SNOOZED, or OPEN: an answer was taken back
    at: str  # when, UTC: 2026-11-22T10:00:00Z
    by: str = YOU  # or the name of an assistant
    until: str = ""  # of what is snoozed: an ISO day, or day and minute
    text: str = ""  # what it was about, in one line


Answers = Mapping[str, Answer]


def state_of(answers: Answers, id_: str) -> str:
    """The last answer to the item, or OPEN."""
    return answers[id_].state if id_ in answers else OPEN


def is_closed(answers: Answers, id_: str) -> bool:
    """Whether the item is done or dropped."""
    return state_of(answers, id_) in (DONE, DROPPED)


def is_asleep(answer: Answer | None, now: str) -> bool:
    """Whether the item is snoozed still; `now` is local, YYYY-MM-DDTHH:MM."""
    if answer is None or answer.state != SNOOZED:
        return False
    return answer.until > (now[:10] if len(answer.until) == 10 else now)


# --- Ids


@lru_cache(16_384)  # all that is due is asked for at each look
def item_id(source: str, key: str) -> str:
    """The id of what `key` names in `source`: the first base32 letters of a SHA-256."""
    return f"vm-{_digest(source, key)[:_SHORTEST_ID]}"


def carried_out_id(id_: str) -> str:
    """The id of the record, for all machines, that what an item asked for was done."""
    return item_id(id_, "carried out")


def item_ids(named: Sequence[tuple[str, str]]) -> list[str]:
    """Ids of sources and keys, in their order and all different, whatever order they come in: where two begin
    alike, the one with the lower digest stays short. Of one pair that comes twice, the second is another thing."""
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


def _digest(source: str, key: str) -> str:
    from base64 import b32encode  # a start-up hook imports this module, and makes no ids
    from hashlib import sha256

    data = f"{source}\0{key}".encode("utf-8", "surrogatepass")
    return b32encode(sha256(data).digest()[:10]).decode("ascii").lower()


def approval_id(id_: str) -> str:
    """The id of the question whether something from outside may be believed."""
    return item_id(id_, "approve")


def proposal_id(id_: str) -> str:
    """The id of the question whether to carry out a proposal."""
    return item_id(id_, "proposal")


def completion_id(path: str) -> str:
    """The id of the question, one for each note, whether to mark its done tasks in the note, too."""
    return item_id(path, "complete")


def halted_id(finding: Finding) -> str:
    """The id of the question of a job that waits for confirmation."""
    return item_id(finding["subject"], f"halted\0{finding['at']}")


def finding_id(kind: str, newer: str, older: Iterable[str]) -> str:
    """The id of what a dream has noticed about memories, by their ids."""
    return item_id(newer, "\0".join([kind, *sorted(older)]))


def leaving_id(finding: Finding) -> str:
    """The id of the notice that a memory will be archived."""
    return item_id(finding["id"], f"leaving\0{finding['leaves']}")


# --- What may be believed


def is_approved(id_: str, answers: Answers) -> bool:
    """Whether the person lets in something from outside. A line that names anybody else, on whatever page, does not."""
    answer = answers.get(approval_id(id_))
    return answer is not None and answer.state == DONE and answer.by == YOU


def is_refused(id_: str, answers: Answers) -> bool:
    """Whether the person refused something from outside."""
    return state_of(answers, approval_id(id_)) == DROPPED


def is_believed(id_: str, answers: Answers, *, foreign: bool) -> bool:
    """Whether something may be shown: from outside what the person lets in, else all but what they have refused."""
    return is_approved(id_, answers) if foreign else not is_refused(id_, answers)


def is_foreign(path: str, properties: Properties, folder: str) -> bool:
    """Whether the words of a note are those of others, and not of an assistant that says its name."""
    if not path.startswith(folder + "/"):
        if "clippings" in path.casefold().split("/")[:-1]:
            return True
        return any(key.lower() in ("source", "url") and value for key, value in properties.items())
    return with_our_keys(properties).get("phase") == "inbox" or access.is_foreign(
        origin_of(properties)
    )


def origin_of(properties: Properties) -> access.Origin:
    """The origin of a memory whose properties may be in anybody's spelling."""
    return access.origin({key_of(key).lower(): value for key, value in properties.items() if value})


def memory_id(path: str, properties: Properties, folder: str) -> str:
    """The id of a memory; "" for any other note."""
    id_ = properties.get("id")
    return id_ if isinstance(id_, str) and id_ and path.startswith(folder + "/") else ""


# Answers as entries of the history have them: recorded with what they led to, and taken back.

MOST = 1_000  # entries in which the last answer is searched


def history_answers(current: Answers, answers: Iterable[Answer]) -> tuple[AnswerChange, ...]:
    """New answers as the history has them, by what is known so far."""
    from vaultmem.vault.batch_record import AnswerChange  # most only read answers

    results = []
    for answer in answers:
        last = current.get(answer.id)
        before = (last.state, last.until) if last else (OPEN, "")
        results.append(AnswerChange(answer.id, *before, answer.state, answer.until, answer.text))
    return tuple(results)


def answers_before(
    session: Session, commits: list[Commit]
) -> tuple[tuple[AnswerChange, ...], list[Skipped]]:
    """The answers to pending items as they were before; those that were answered again since stay."""
    current = session.store.pending.record.answers()
    now = {answer.id: (answer.state, answer.until) for answer in current.values()}
    back: list[AnswerChange] = []
    refused: list[Skipped] = []
    for answer in (answer for commit in commits for answer in reversed(commit.answers)):
        if now.get(answer.id, (OPEN, "")) == (answer.after, answer.after_until):
            back.append(answer.reversed())
            now[answer.id] = answer.before, answer.before_until
        elif now.get(answer.id, (OPEN, "")) != (answer.before, answer.before_until):
            refused.append(
                {"path": answer.id, "reason": f"{answer.text} ({answer.id}) was answered since"}
            )
    return tuple(back), refused


def keep_answers(session: Session, who: Header) -> None:
    """Record answers as the entry of the history has them; those that close an item count as carried out."""
    from vaultmem.text.times import stamp  # most only read answers

    at = stamp(session.now)
    answers: list[Answer] = []
    for answer in who.answers:
        answers.append(Answer(answer.id, answer.after, at, who.by, answer.after_until, answer.text))
        if answer.after in (DONE, DROPPED):
            answers.append(Answer(carried_out_id(answer.id), DONE, at, who.by, "", answer.text))
    if answers:
        session.store.pending.record.add(answers, [], session.now)


def keep_as_entry(session: Session, who: Header, answers: Sequence[Answer]) -> None:
    """Record answers from which nothing else follows, as an entry of the history."""
    record = session.store.pending.record
    who = who._replace(answers=history_answers(record.answers(), answers))
    record.add(answers, [], session.now)
    session.store.batches.apply(who, [])


def entry_of_answer(session: Session, id_: str, state: str) -> str | None:
    """The entry that gave an item this answer last, if it holds and there is a history."""
    if session.store.history.trouble():
        return None
    session.store.remember()
    for entry in holding(session.store.history.log(limit=MOST))[0]:
        if any((answer.id, answer.after) == (id_, state) for answer in entry.answers):
            return entry.commit
    return None


def holding(done: Iterable[Commit]) -> tuple[list[Commit], set[str]]:
    """The entries that no later one takes back, the newest first; and what is taken back."""
    taken_back: set[str] = set()
    holding = []
    for entry in done:
        if entry.commit not in taken_back:
            taken_back.update(entry.undoes)
            holding.append(entry)
    return holding, taken_back
