"""Generate a vault of invented conversations with planted facts, and the queries that ask for them.

    python benchmarks/recall/chats.py OUTDIR [--seed 7]

writes OUTDIR/vault/ and OUTDIR/queries.jsonl in the shape that measure.py reads. Six pairs of
friends meet in ten sessions each. A fact is told once in one of several wordings and often taken up
in a later session; other people tell of the same topics with other details, and idle talk borrows
their words, so that neither a name nor a word alone finds the answer. The words are in
chat_material.json. The same seed gives the same bytes.
"""

import argparse
import json
import random
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, NotRequired, TypedDict

MATERIAL = Path(__file__).with_name("chat_material.json")
SESSIONS = 10
TELLING_SESSIONS = 8  # the last two only return to what was told before
FACTS_A_PERSON = 12
THIRDS_A_PERSON = 4
LATER_A_SESSION = 3
TAKEN_UP = 0.7
TURNS = (17, 28)
ASKINGS: tuple[Literal["ask"], Literal["near"]] = ("ask", "near")
AND_THEN = "And what came of it?"
FIRST_DAY = date(2025, 1, 5)
WANTED = {"single": 110, "when": 45, "multi": 60, "name": 45}


class Topic(TypedDict):
    """Wordings of one kind of fact: {a} and {c} are details, {t} a third person, {n} the teller.

    `ask` avoids the words of the telling, `near` shares some with one wording or another.
    """

    topic: str
    third: NotRequired[bool]
    a: list[str]
    say: list[str]
    later: list[str]
    ask: list[str]
    near: list[str]
    when: list[str]
    both: list[str]
    who: NotRequired[list[str]]
    noise: list[list[str]]


class Material(TypedDict):
    """All words of the generator."""

    pairs: list[list[str]]
    thirds: list[str]
    when_detail: list[str]
    openers: list[list[str]]
    closers: list[list[str]]
    reactions: list[str]
    followups: list[str]
    smalltalk: list[list[str]]
    facts: list[Topic]


class Fact(NamedTuple):
    """One thing that one person tells; later is empty if nobody returns to it."""

    key: str
    teller: str
    topic: Topic
    told_in: int
    taken_up_in: int | None
    text: str
    later: str
    third: str
    detail: str


class Turn(NamedTuple):
    """One line of a conversation; key names what was planted in it ("" for idle talk)."""

    speaker: str
    text: str
    key: str = ""


class Place(NamedTuple):
    """Where a planted turn is."""

    path: str
    line: int


Places = dict[str, Place]
Label = dict[str, str | int]


def new_fact(dice: random.Random, key: str, teller: str, topic: Topic, third: str) -> Fact:
    """A fact with its details chosen, not yet placed in sessions."""
    detail, other = dice.sample(topic["a"], 2)
    text = dice.choice(topic["say"]).format(a=detail, t=third)
    later = dice.choice(topic["later"]).format(c=other)
    text = text[0].upper() + text[1:]
    return Fact(key, teller, topic, 0, None, text, later, third, detail)


def topics_of(dice: random.Random, material: Material) -> list[Topic]:
    """What one person tells about; only a few topics involve a third person, whose name is unique."""
    topics = dice.sample(material["facts"], len(material["facts"]))
    among = [topic for topic in topics if topic.get("third")][:THIRDS_A_PERSON]
    alone = [topic for topic in topics if not topic.get("third")]
    return among + alone[: FACTS_A_PERSON - len(among)]


def facts_of(
    dice: random.Random, material: Material, pair: list[str], thirds: list[str]
) -> list[Fact]:
    """One pair's facts in order of telling; a third person is used for one fact only."""
    facts = []
    for teller in pair:
        for topic in topics_of(dice, material):
            third = thirds.pop() if topic.get("third") else ""
            facts.append(new_fact(dice, f"{teller}/{topic['topic']}", teller, topic, third))
    dice.shuffle(facts)
    return placed(dice, facts)


def placed(dice: random.Random, facts: list[Fact]) -> list[Fact]:
    """The facts spread over the sessions; most are taken up again in a later session."""
    room = Counter(dict.fromkeys(range(SESSIONS), LATER_A_SESSION))
    result = []
    for number, fact in enumerate(facts):
        told_in = number % TELLING_SESSIONS
        open_sessions = [later for later in range(told_in + 1, SESSIONS) if room[later]]
        taken_up_in = None
        if open_sessions and dice.random() < TAKEN_UP:
            taken_up_in = dice.choice(open_sessions)
            room[taken_up_in] -= 1
        result.append(fact._replace(told_in=told_in, taken_up_in=taken_up_in))
    return result


def idle(dice: random.Random, pair: list[str], lines: list[str]) -> list[Turn]:
    """An exchange that plants nothing, started by either of the two."""
    first = dice.randrange(2)
    return [Turn(pair[(first + number) % 2], line) for number, line in enumerate(lines)]


def telling(dice: random.Random, pair: list[str], material: Material, fact: Fact) -> list[Turn]:
    """The fact, a reaction, sometimes one more sentence; now and then a question leads to it."""
    other = pair[1 - pair.index(fact.teller)]
    lead = dice.choice(fact.topic["noise"])[0] if dice.random() < 0.3 else ""
    turns = [Turn(other, lead)] if lead else []
    turns += [Turn(fact.teller, fact.text, fact.key)]
    turns += [Turn(other, dice.choice(material["reactions"]))]
    if dice.random() < 0.6:
        turns.append(Turn(fact.teller, dice.choice(material["followups"])))
    return turns


def taking_up(dice: random.Random, pair: list[str], material: Material, fact: Fact) -> list[Turn]:
    """What became of an earlier fact."""
    other = pair[1 - pair.index(fact.teller)]
    turns = [Turn(fact.teller, fact.later, f"{fact.key}/later")]
    return [*turns, Turn(other, dice.choice(material["reactions"]))]


def session(
    dice: random.Random, material: Material, pair: list[str], planted: list[list[Turn]]
) -> list[Turn]:
    """Opener, the planted exchanges among idle ones, closer."""
    parts = list(planted)
    wanted = dice.randint(*TURNS) - 4
    noise = [lines for topic in material["facts"] for lines in topic["noise"]]
    chatter = material["smalltalk"] + noise
    for lines in dice.sample(chatter, len(chatter)):
        if sum(map(len, parts)) >= wanted - 1:
            break
        parts.append(idle(dice, pair, lines))
    dice.shuffle(parts)
    opener = idle(dice, pair, dice.choice(material["openers"]))
    closer = idle(dice, pair, dice.choice(material["closers"]))
    return [turn for part in (opener, *parts, closer) for turn in part]


def note(pair: list[str], day: date, turns: list[Turn], path: str) -> tuple[str, Places]:
    """A session's Markdown and where its planted turns are."""
    title = f"{pair[0]} and {pair[1]}, {day.day} {day:%B %Y}"
    lines = ["---", f"date: {day}", f"people: [{', '.join(pair)}]", "tags: [chat]", "---", ""]
    lines += [f"# {title}", ""]
    places = {}
    for turn in turns:
        lines += [f"**{turn.speaker}:** {turn.text}", ""]
        if turn.key:
            places[turn.key] = Place(path, len(lines) - 1)
    return "\n".join(lines), places


def write_pair(
    dice: random.Random, material: Material, pair: list[str], facts: list[Fact], vault: Path
) -> Places:
    """Write the ten sessions of one pair."""
    day = FIRST_DAY + timedelta(days=dice.randrange(30))
    places: Places = {}
    for number in range(SESSIONS):
        planted = [telling(dice, pair, material, fact) for fact in facts if fact.told_in == number]
        planted += [
            taking_up(dice, pair, material, fact) for fact in facts if fact.taken_up_in == number
        ]
        path = f"Chats/{pair[0]} and {pair[1]}/{day}.md"
        text, found = note(pair, day, session(dice, material, pair, planted), path)
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
        places |= found
        day += timedelta(days=dice.randint(12, 55))
    return places


def label(place: Place, grade: int) -> Label:
    """A label of one line."""
    return {"path": place.path, "line": place.line, "end_line": place.line, "grade": grade}


def questions(
    dice: random.Random, material: Material, fact: Fact, places: Places
) -> dict[str, tuple[str, list[Label]]]:
    """Every kind of question that this fact answers, with its labels."""
    told, later = places[fact.key], places.get(f"{fact.key}/later")
    topic = fact.topic

    def worded(choices: list[str]) -> str:
        return dice.choice(choices).format(n=fact.teller, t=fact.third, a=fact.detail)

    asked = {
        "single": (worded(topic[dice.choice(ASKINGS)]), [label(told, 3)]),
        "when": (worded(dice.choice([topic["when"], material["when_detail"]])), [label(told, 3)]),
    }
    if later:
        asked["single"][1].append(label(later, 1))
        asked["multi"] = (
            worded([dice.choice(topic["both"]), f"{dice.choice(topic['near'])} {AND_THEN}"]),
            [label(told, 3), label(later, 3)],
        )
    if fact.third:
        asked["name"] = (worded(topic.get("who", [])), [label(told, 3)])
    return asked


def records(
    dice: random.Random, material: Material, facts: list[Fact], places: Places
) -> list[dict[str, object]]:
    """The labelled queries; a pair is wholly dev or wholly test, so nothing leaks."""
    dev = {person for pair in material["pairs"][::2] for person in pair}
    by_kind: dict[str, list[tuple[str, str, list[Label]]]] = {kind: [] for kind in WANTED}
    for fact in facts:
        split = "dev" if fact.teller in dev else "test"
        for kind, (text, labels) in questions(dice, material, fact, places).items():
            by_kind[kind].append((split, text, labels))
    rows: list[dict[str, object]] = []
    for kind, found in by_kind.items():
        for split, text, labels in dice.sample(found, min(WANTED[kind], len(found))):
            head = {"id": f"c{len(rows) + 1:03d}", "query": text, "kind": kind, "split": split}
            rows.append({**head, "relevant": labels})
    return rows


def generate(out: Path, seed: int = 7) -> int:
    """Write vault/ and queries.jsonl below out, which must not contain a vault yet. Returns the number of queries."""
    vault = out / "vault"
    if vault.exists():
        raise SystemExit(f"{vault} is there already; choose an empty folder")
    material: Material = json.loads(MATERIAL.read_text(encoding="utf-8"))
    dice = random.Random(seed)
    thirds = dice.sample(material["thirds"], len(material["thirds"]))
    facts: list[Fact] = []
    places: Places = {}
    for pair in material["pairs"]:
        told = facts_of(dice, material, pair, thirds)
        places |= write_pair(dice, material, pair, told, vault)
        facts += told
    rows = records(dice, material, facts, places)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (out / "queries.jsonl").write_text(text, encoding="utf-8")
    return len(rows)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Generate a vault of chats with labelled queries.")
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    print(f"{generate(chosen.outdir, chosen.seed)} queries in {chosen.outdir / 'queries.jsonl'}")


if __name__ == "__main__":
    main()
