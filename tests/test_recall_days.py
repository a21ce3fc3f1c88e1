"""Recalls of a question that names days: by their notes and memories, by text that names them, beside an event, and the
latest of several."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli_run import ran
from tests.conftest import Write
from tests.recalled import remembered, titles
from vaultmem import Vault
from vaultmem import now as clock
from vaultmem.text.times import stamp


def here(day: int, hour: int) -> str:
    """The stamp in UTC of an hour in November here."""
    return stamp(datetime(2026, 11, day, hour).astimezone().timestamp())


FRIDAY, THURSDAY = {"Friday's run", "Parser"}, {"Thursday's run", "Lexer"}
DAYS = {
    "what did we decide yesterday?": FRIDAY, "what did I do yesterday": FRIDAY, "昨天我做了什么": FRIDAY,
    "was haben wir gestern gemacht": FRIDAY, "what did I do on Thursday": THURSDAY,
    "what happened last Thursday": THURSDAY, "what happened on 26 November": THURSDAY,
    "what happened last week": {"Earlier"}, "what did I do recently": FRIDAY | THURSDAY | {"Earlier", "Printer"},
    "what happened since Friday": FRIDAY | {"Printer"}, "what happened this year": set(), "what happens tomorrow": set(), "can you help me today?": set(),
}  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_what_is_of_a_past_day_that_is_named_is_an_answer(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-28T12:00")
    monkeypatch.setenv("VAULTMEM_NOTIFY_TIMEZONE", zone)
    clock.use_zone(zone)
    for day, name in (
        ("2026-11-27", "Friday's run"), ("2026-11-26", "Thursday's run"), ("2026-11-20", "Earlier"),
    ):  # fmt: skip
        write(f"Daily/{name}.md", f"---\ndate: {day}\n---\nRan along the river to the bridge\n")
    remembered(vault, write, [
        ("inbox/Parser.md", f"created_at: {here(27, 23)}", "The parser is going to be tree-sitter"),
        ("inbox/Lexer.md", f"created_at: {here(26, 1)}", "The lexer is going to be handwritten"),
        ("inbox/Printer.md", f"created_at: {here(28, 8)}", "The printer is going to be laser"),
    ])  # fmt: skip
    with Vault(str(vault)) as opened:
        for query, wanted in DAYS.items():
            answer = opened.recall(query, without=["meaning", "hop"])
            assert {one["title"] for one in answer["memories"]} == wanted, query
            found = [hit.title for hit in opened.search(query, semantic=False)]
            assert {*found[: len(wanted)]} == wanted, query
    listed = ran("list", "--format", "text", "--vault", str(vault)).out
    assert re.findall(r"2026-11-(\d\d)  inbox  (\w+)", listed) == [
        ("28", "Printer"), ("27", "Parser"), ("26", "Lexer"),
    ]  # fmt: skip


def test_a_text_that_names_one_of_the_days_is_an_answer(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-24T12:00")
    write("Lamp.md", "- [ ] Mend the lamp 📅 2026-11-27\n")
    write("Oven.md", "- [ ] Sweep the oven 📅 2026-12-27\n")
    write("Week.md", "This week last year was long\n")
    remembered(vault, write, [])
    for query in ("what do I have to do this week?", "am 27. November?", "what's on Friday"):
        assert titles(vault, query) == ["Lamp"], query


def test_what_was_beside_an_event_is_found_by_its_day(
    vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTMEM_NOW", "2026-11-24T12:00")
    for day, text in (
        ("03-29", "Ironed"), ("04-09", "Packed"), ("04-10", "The trip to Oslo began"), ("04-13", "Unpacked"), ("04-17", "Rested"),
        ("06-01", "Swam"), ("06-02", "The parade of 2026-02-30"),
    ):  # fmt: skip
        write(f"Daily/2026-{day}.md", f"{text}\n")
    remembered(vault, write, [])
    for query, wanted in {
        "what did I do after the trip to Oslo?": ["04-13", "04-17", "04-10"],
        "what happened the week before the Oslo trip": ["04-09", "04-10"],
        "what have I done since the trip to Oslo": ["04-10", "04-13", "04-17", "06-01", "06-02"],
        "where is the ticket after the trip": ["04-10"],
        "what did I do after the parade": ["06-02"],
    }.items():
        assert titles(vault, query) == [f"2026-{day}" for day in wanted], query


def test_the_last_time_is_the_latest_of_those_that_fit(vault: Path, write: Write) -> None:
    write("Daily/2026-03-02.md", "At the dentist, nothing to do\n")
    write("Daily/2026-09-12.md", "A crown at the dentist\n")
    remembered(vault, write, [
        ("inbox/Filling.md", "created_at: 2026-05-05T12:00Z", "The dentist made a filling; the dentist was late"),
        ("inbox/Optician.md", "created_at: 2026-10-10T12:00Z", "Saw the optician"),
    ])  # fmt: skip
    asked = "when did I last see the dentist?"
    assert titles(vault, asked)[:3] == ["2026-09-12", "Filling", "2026-03-02"]
    assert titles(vault, "the dentist")[0] == "Filling"
