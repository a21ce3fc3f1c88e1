"""Replaced and archived memories: the last tier of a search, what was known at another time, and in which order a recall
returns it."""

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import on, ran
from tests.conftest import Write
from tests.recalled import WORDS, remembered, titles
from vaultmem import Vault
from vaultmem.api.params import of_verb
from vaultmem.config import Config
from vaultmem.memories.access import viewer
from vaultmem.recall import criteria
from vaultmem.search.query import Ask, Filter, Hit

NOW = 1_800_000_000.0


@pytest.fixture
def past(vault: Path, write: Write) -> Path:
    """A vault with a replaced memory and one archived because of its age."""
    remembered(vault, write, [
        ("knowledge/Porto.md", "created_at: 2026-03-01", "The user lives in Porto"),
        ("archive/Bristol.md", "created_at: 2026-01-01\nby: supersede\nreplaced_by: Porto\nuntil: 2026-03-01",
         "The user lives in Bristol"),
        ("archive/Tea.md", "created_at: 2026-01-02\nby: decay", "The user lives on tea"),
        ("archive/Gone.md", "created_at: 2026-01-03\nby: delete", "The user lives on rice"),
        ("archive/Key.md", "created_at: 2026-01-03\nby: decay\nprivate: true", "The user lives in fear"),
        ("archive/Pin.md", "created_at: 2026-01-03\nprivate: true\nreplaced_by: Porto\nuntil: 2026-03-01",
         "The user lives in hiding"),
        ("archive/Mine.md", "created_at: 2026-01-03\nby: decay\nscope: agent:codex", "The user lives it up"),
    ])  # fmt: skip
    return vault


def test_what_age_archived_is_told_last_and_what_was_replaced_is_counted(past: Path) -> None:
    query = "where does the user live"
    with Vault(str(past)) as opened:
        found = opened.recall(query, **WORDS)  # type: ignore[misc]
    assert [(one["title"], one["archived"]) for one in found["memories"]] == [
        ("Porto", False),
        ("Tea", True),
    ]
    assert found["left_out"]["replaced"] == 1  # nobody learns that there is a private one
    assert titles(past, query, top_k=1) == ["Porto"]
    assert "Mine" in titles(past, query, by="codex")
    words = ("--without", "meaning", "--format", "text", "--vault", str(past))
    assert ran("recall", query, *words).out == (
        "<memory>\n"
        "[SEMANTIC] (2026-03-01) The user lives in Porto\n"
        "[SEMANTIC] (2026-01-02, from the archive) The user lives on tea\n"
        "</memory>\n"
        "(1 older answer replaced by newer ones; --as-of DATE shows what was known then)\n"
    )


def test_what_held_then_is_not_crowded_out_by_what_holds_still(vault: Path, write: Write) -> None:
    remembered(vault, write, [
        ("knowledge/Coffee.md", "created_at: 2026-03-01", "I drink coffee in the morning now"),
        ("archive/Tea.md", "created_at: 2026-01-01\nby: supersede\nreplaced_by: Coffee\nuntil: 2026-03-01",
         "I drink tea in the morning"),
        ("knowledge/Work.md", "created_at: 2026-01-01", "I never work in the morning"),
        ("knowledge/Nap.md", "created_at: 2026-01-01", "I nap after the morning walk"),
    ])  # fmt: skip
    query = "what do I drink in the morning"
    assert titles(vault, query, as_of="2026-02-01", top_k=1) == ["Tea"]
    assert titles(vault, query, top_k=1) == ["Coffee"]


def test_a_time_in_the_past_is_told_as_it_was_known_then(past: Path) -> None:
    query = "where does the user live"
    line = "[SEMANTIC] (2026-01-01, until 2026-03-01) The user lives in Bristol\n"
    for day, told in (
        ("2026-01-01", ["Bristol"]), ("2026-02-10", ["Bristol", "Tea"]), ("2026-03-01", ["Porto", "Tea"]),
        ("2026-02-10T09:00", ["Bristol", "Tea"]),
    ):  # fmt: skip
        assert titles(past, query, as_of=day) == told
        words = ("--as-of", day, "--without", "meaning", "--format", "text", "--vault", str(past))
        block = ran("recall", query, *words).out
        assert (line in block) == ("Bristol" in told)
        assert ("older answer" in block) == ("Bristol" not in told)


def test_a_question_about_the_past_is_answered_with_what_held_then(past: Path) -> None:
    for query in (
        "where did the user live in February 2026", "where did the user live before?", "where did the user live previously",
    ):  # fmt: skip
        assert titles(past, query)[:2] == ["Bristol", "Porto"], query
    for query in (
        "where does the user live",
        "where did the user live in May 2026",
        "where did the user live in 2024",
    ):
        assert "Bristol" not in titles(past, query), query
    with Vault(str(past)) as opened:
        (then, *_) = opened.recall("where did the user live in February 2026", **WORDS)["memories"]  # type: ignore[misc]
    assert then["until"].startswith("2026-03-01")


def test_a_replaced_memory_that_is_restored_holds_again(vault: Path) -> None:
    with Vault(str(vault)) as opened:
        old = opened.write("I live in Bristol")
        assert opened.write("I live in Porto now")["replaced"]
        opened.restore(old["id"])
        assert "until" not in (vault / old["path"]).read_text("utf-8")
        opened.sync()
        facts = {one["text"] for one in opened.ask("pending", facts=True)["facts"]}
        assert facts == {"I live in Bristol", "I live in Porto now"}
    lines = on(vault, "recall", "where do I live", "--without", "meaning").out
    assert "Bristol" in lines
    assert "until" not in lines


def test_what_replaced_an_answer_in_other_words_is_told(vault: Path, write: Write) -> None:
    remembered(vault, write, [
        ("people/Sister.md", "created_at: 2026-01-01", "My sister lives in Kiel"),
        ("archive/First.md", "created_at: 2026-01-01\nreplaced_by: Second\nuntil: 2026-02-01", "I live in Tromsø"),
        ("archive/Second.md", "created_at: 2026-02-01\nreplaced_by: Third\nuntil: 2026-03-01", "We moved to Oslo"),
        ("people/Third.md", "created_at: 2026-03-01", "The new address is Nygårdsgaten 17"),
        ("archive/Loop.md", "created_at: 2026-01-01\nreplaced_by: Loop\nuntil: 2026-02-01", "I live on a boat"),
        ("archive/Lost.md", "created_at: 2026-01-01\nreplaced_by: Nothing\nuntil: 2026-02-01", "I live alone"),
        ("archive/Mine.md", "created_at: 2026-01-01\nreplaced_by: Own\nuntil: 2026-02-01", "I live for tea"),
        ("people/Own.md", "created_at: 2026-03-01\nscope: agent:codex", "Coffee it is"),
    ])  # fmt: skip
    query = "where does the user live"
    assert titles(vault, query) == ["Sister", "Third"]
    assert titles(vault, query, by="codex") == ["Sister", "Third", "Own"]
    assert titles(vault, "where does Anton live") == ["Sister"]
    assert "Third" not in titles(vault, query, as_of="2026-01-15")


def test_what_replaced_an_answer_precedes_what_fits_less(vault: Path, write: Write) -> None:
    """In whatever words it is written: it answers the question of the one it replaced."""
    for number in range(6):
        write(f"Talk {number}.md", f"Where do rivers live? Talk {number}, on live recordings.")
    remembered(vault, write, [
        ("archive/Lisbon.md", "created_at: 2026-01-01\nreplaced_by: Vienna\nuntil: 2026-03-01", "I live in Lisbon"),
        ("people/Vienna.md", "created_at: 2026-03-01", "We moved to Vienna and live well"),
    ])  # fmt: skip
    assert titles(vault, "where do I live", notes=True).index("Vienna") <= 1


def test_what_replaced_as_good_an_answer_as_any_is_near_first(vault: Path, write: Write) -> None:
    for number in range(6):
        write(f"Call {number}.md", f"The phone rang {number} times.")
    remembered(vault, write, [
        ("archive/Old.md", "created_at: 2026-01-01\nreplaced_by: New\nuntil: 2026-03-01", "My phone is with Vodafone"),
        ("people/New.md", "created_at: 2026-03-01", "I cancelled Vodafone, it is giffgaff now"),
    ])  # fmt: skip
    assert titles(vault, "who is my phone provider", notes=True).index("New") <= 1
    assert "New" not in titles(vault, "who is the phone provider of Anton", notes=True)


def test_a_span_leads_back_from_now() -> None:
    def as_of(given: str) -> float | None:
        return criteria.criteria_of(
            criteria.Arguments(of_verb("recall").check({"query": "x", "as_of": given})),
            Config({}),
            NOW,
        ).as_of

    assert as_of("") is None
    assert as_of("7d") == NOW - 7 * 86_400
    day = datetime.fromisoformat("2026-03-01")  # by the person's clock
    assert as_of("2026-03-01") == (day + timedelta(days=1)).timestamp()
    assert as_of("2026-03-01T08:00") == (day + timedelta(hours=8)).timestamp()


def test_what_may_contradict_is_told_together_newest_first(vault: Path, write: Write) -> None:
    remembered(vault, write, [
        ("knowledge/A.md", "created_at: 2026-03-01", "The staging server listens on port 8000"),
        ("knowledge/B.md", "created_at: 2026-03-02", "The staging server is watched by Anne"),
        ("knowledge/C.md", "created_at: 2026-03-03", "The staging server listens on port 9000"),
    ])  # fmt: skip
    found = titles(vault, "staging server")
    assert sorted(found) == ["A", "B", "C"]
    assert found.index("A") == found.index("C") + 1


def test_a_change_is_told_before_what_it_may_change(vault: Path, write: Write) -> None:
    remembered(vault, write, [
        ("people/A.md", "created_at: 2026-03-01", "The vet for Tofu and Miso is Dr Singh at Zetland Vets"),
        ("people/B.md", "created_at: 2026-03-02", "The new vet for Miso and Tofu in Leipzig is Dr Baumann"),
        ("people/C.md", "created_at: 2026-03-03", "Tofu likes the vet"),
    ])  # fmt: skip
    found = titles(vault, "who is the vet for Tofu and Miso")
    assert found.index("B") == found.index("A") - 1
    assert found.index("C") > found.index("A")


@pytest.mark.parametrize(("question", "old", "new"), [
    ("When does Nebula play at the Harbour Hall?", "Nebula plays at the Harbour Hall on 16 January",
     "The concert in the Harbour Hall has been postponed until spring"),
    ("Wann ist die Klavierstunde im Januar?", "Die Klavierstunde ist am 22. Januar um 9 Uhr",
     "Klavier ist im Haus wie alles andere auf den 29. Januar verschoben"),
])  # fmt: skip
def test_a_change_comes_first_however_little_it_has_of_the_question(
    vault: Path, write: Write, question: str, old: str, new: str
) -> None:
    remembered(vault, write, [
        ("people/A.md", "created_at: 2026-03-01", old), ("people/B.md", "created_at: 2026-03-02", new),
    ])  # fmt: skip
    found = titles(vault, question)
    assert found.index("B") < found.index("A")


KEPT, NOTE, FADED, OLD = "Kept", "Saffron", "Saffron faded", "Saffron is dear"


def page(**own: object) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in own.items())


@pytest.fixture
def kept(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One note, one live memory, and in the archive a faded, a replaced, a deleted, another client's and a private
    one."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    write(f"{NOTE}.md", "Saffron and rice\n")
    away: dict[str, dict[str, object]] = {
        FADED: {"by": "decay", "deleted_at": "2026-08-01T10:00:00Z", "tags": ["spice/red"], "project": "food"},
        OLD: {"by": "claude", "agent": "Claude Code", "deleted_at": "2026-08-02T10:00:00Z", "replaced_by": "0d741456-94bd-4f4c"},
        "Saffron deleted": {"by": "you", "deleted_at": "2026-08-03T10:00:00Z"},
        "Saffron of codex": {"by": "decay", "scope": "agent:codex"},
        "Saffron of mine": {"by": "decay", "private": True},
    }  # fmt: skip
    for number, (title, own) in enumerate(away.items()):
        given = {"id": f"{number:08}-94bd", "created_at": "2026-07-01T10:00:00Z", **own}
        write(
            f"vaultmem/archive/{title}.md", f"---\n{page(**given)}---\n{title}, from the pantry\n"
        )
    with Vault(str(vault)) as opened:
        opened.write("Saffron grows in autumn")
        opened.sync()
    return vault


def hit_titles(found: list[Hit]) -> list[str]:
    return [one.title for one in found]


def asked(vault: Path, text: str, **how: Any) -> list[Hit]:
    with Vault(str(vault)) as opened:
        return opened.answer(Ask(text, **how)).results


def test_the_archive_comes_last_and_only_where_there_is_room(kept: Path) -> None:
    found = asked(kept, "saffron")
    live = [one for one in found if not one.archived]
    assert found[: len(live)] == live
    assert len(live) == 2
    marks = {one.title: one.archived for one in found[len(live) :]}
    assert marks[FADED] == "archived 2026-08-01"
    assert marks[OLD] == "replaced by 0d741456"
    assert "Saffron deleted" not in marks
    assert hit_titles(asked(kept, "saffron", limit=2)) == hit_titles(live)
    assert hit_titles(asked(kept, "saffron", limit=3))[:2] == hit_titles(live)
    assert not asked(kept, "turmeric")


@pytest.mark.parametrize(
    ("text", "filters", "told"),
    [
        ("pantry", [], {FADED, OLD}),
        ("pantry -dear", [], {FADED}),
        ('"is dear"', [], {OLD}),
        ("pantry OR cellar", [Filter("tag", "spice")], {FADED}),
        ("pantry -tag:spice", [], {OLD}),
        ("pant* tag:spices", [], set()),
        ("pantry", [Filter("project", "Food")], {FADED}),
        ("pantry", [Filter("agent", "claude")], {OLD}),
        ("pantry", [Filter("source", "none")], set()),
        ("pantry title:faded", [], {FADED}),
        ("pantry path:Projects/", [], set()),
        ("pantry before:2026-07", [], set()),
        ("pantry after:2026-06", [Filter("to", "2026-07-01")], {FADED, OLD}),
        ("pantry in the cellar under the stairs", [], set()),
        ("tag:spice", [], set()),
    ],
)  # fmt: skip
def test_what_is_asked_for_holds_for_the_archive(
    kept: Path, text: str, filters: list[Filter], told: set[str]
) -> None:
    found = asked(kept, text, filters=tuple(filters), viewer=viewer("claude"))
    assert {one.title for one in found if one.archived} == told


def test_who_may_not_see_it_is_not_told(kept: Path) -> None:
    """Private memories in the archive, and those of another scope, are for the person and their owner alone."""
    seen = {
        name: {*hit_titles(asked(kept, "pantry", viewer=viewer(name)))} for name in ("", "codex")
    }
    assert seen[""] == {FADED, OLD, "Saffron of codex", "Saffron of mine"}
    assert seen["codex"] == {FADED, OLD, "Saffron of codex"}


def test_what_is_archived_later_is_found(kept: Path, write: Write) -> None:
    """The list of archived files is read again when their folder changes."""
    folder = kept / "vaultmem/archive"
    os.utime(folder, (1_700_000_000, 1_700_000_000))
    with Vault(str(kept)) as opened:
        for number in range(2):
            assert len([one for one in opened.search("saffron") if one.archived]) == 4 + number
            fields = page(id=f"9{number:07}-94bd", created_at="2026-07-01T10:00:00Z", by="decay")
            write(f"vaultmem/archive/Late {number}.md", f"---\n{fields}---\nSaffron, late\n")


def test_every_door_marks_what_it_tells_last(kept: Path) -> None:
    at = ("--vault", str(kept), "--format")
    shown = ran("search", "pantry", *at, "text")
    assert "nothing found" not in shown.err
    assert "(archived 2026-08-01)" in shown.out
    assert "(replaced by 0d741456)" in shown.out
    data = ran("search", "pantry", *at, "json").data["results"]
    batch = json.loads(ran("search", "--batch", *at, "json", stdin=b"pantry\n").out)["results"]
    for results in (data, batch):
        assert {result["title"]: result["archived"] for result in results}[
            FADED
        ] == "archived 2026-08-01"
    for name in ("memory_search", "memory_smart_search"):
        call = json.dumps({"name": name, "params": {"query": "saffron"}}).encode()
        said = json.loads(on(kept, "agent", stdin=call).out)
        lines = said["text"].splitlines()[1:]
        marked = [
            "archived 2026-08-01)" in line or "replaced by 0d741456)" in line for line in lines
        ]
        assert marked == [False, False, True, True]
        assert [bool(one.get("archived")) for one in said["data"]["results"]] == marked


def test_what_is_newer_about_the_same_comes_by_meaning(vault: Path, write: Write) -> None:
    """Even if it has no word of the question, and only for who may see it."""
    remembered(vault, write, [
        ("people/A.md", "created_at: 2026-01-01", "That's it, I've stopped smoking the pipe as of New Year's Day"),
        ("people/B.md", "created_at: 2026-02-01", "The allotment is number 23, down by the river"),
        ("people/C.md", "created_at: 2026-02-02", "My daughter teaches chemistry in Leeds"),
        ("people/D.md", "created_at: 2026-02-03", "Zeitler sells limestone at 640 a cubic metre"),
        ("people/E.md", "created_at: 2026-03-01", "Back on the pipe again, god help me"),
        ("people/F.md", "created_at: 2026-03-02\nscope: agent:codex", "Back on the pipe again, which is for Codex alone"),
        ("people/G.md", "created_at: 2026-03-03\nprivate: true", "Back on the pipe again, which nobody may know"),
        ("people/H.md", "created_at: 2026-03-04", "Shall I be back on the pipe again?"),
    ])  # fmt: skip
    with Vault(str(vault)) as opened:
        opened.embed()
    question = {"query": "Do I smoke?", "notes": False, "by": "claude"}
    without = titles(vault, **question, without=["newer"])
    assert "A" in without
    assert "E" not in without
    lines = titles(vault, **question, without=[])
    assert "A" not in lines, "certainly replaced"
    assert not {"F", "G"} & {*lines}
    assert "H" not in lines[: lines.index("E")]
    assert "A" in titles(vault, **question, without=[], as_of="2026-02-20")
    with Vault(str(vault)) as opened:
        assert opened.recall(**question)["left_out"]["replaced"] == 1
    assert not (vault / "vaultmem" / "archive").exists(), "nothing is archived"


def test_what_came_from_elsewhere_is_listed_first_and_hides_nothing(
    vault: Path, write: Write
) -> None:
    remembered(vault, write, [
        ("people/A.md", "created_at: 2026-01-01", "That's it, I've stopped smoking the pipe as of New Year's Day"),
        ("people/B.md", "created_at: 2026-02-01", "The allotment is number 23, down by the river"),
        ("people/C.md", "created_at: 2026-02-02", "My daughter teaches chemistry in Leeds"),
        ("people/D.md", "created_at: 2026-02-03", "Zeitler sells limestone at 640 a cubic metre"),
        ("people/E.md", "created_at: 2026-03-01\nsource: web", "Back on the pipe again, god help me"),
    ])  # fmt: skip
    with Vault(str(vault)) as opened:
        opened.embed()
    lines = titles(vault, "Do I smoke?", notes=False, untrusted=True, without=[])
    assert lines.index("E") == lines.index("A") - 1
