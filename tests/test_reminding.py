"""Reminders that somebody sets say when they remind, in the words of the person."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_run import ran
from vaultmem import Vault
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.store.frontmatter import split


@pytest.fixture
def opened(vault: Path) -> Iterator[Vault]:
    with Vault(str(vault)) as found:
        yield found


def tomorrow() -> str:
    return (dt.datetime.now().astimezone() + dt.timedelta(days=1)).date().isoformat()


@pytest.mark.parametrize(
    ("words", "at", "says"),
    [
        ("call Anne tomorrow at 3pm", None, "T15:00"),
        ("明天下午三点给妈妈打电话", None, "T15:00"),
        ("water the plants", "tomorrow at 7:30", "T07:30"),
        ("pay the rent tomorrow", None, ""),
    ],
)
def test_the_words_say_when(opened: Vault, words: str, at: str | None, says: str) -> None:
    said = opened.remind(words, at=at)
    assert said["remind"] == tomorrow() + says
    assert said["category"] == "reminders"
    kept = split(Path(opened.path, said["path"]).read_text()).properties
    assert kept["remind"] == said["remind"]
    assert kept["phase"] == "organized"
    assert "repeat" not in kept


def test_it_may_come_round_again(opened: Vault) -> None:
    assert opened.remind("water the plants every Saturday at 9am")["repeat"].startswith(
        "every week"
    )
    said = opened.remind("water the garden tomorrow", repeat="every 2 weeks")
    assert said["repeat"] == "every 2 weeks"
    with pytest.raises(UsageError, match="must be a rule"):
        opened.remind("water the lawn tomorrow", repeat="now and then")


@pytest.mark.parametrize("words", ["buy milk", "call Anne on 2020-01-01", "第三点很重要"])
def test_without_a_time_to_come_nothing_is_written(vault: Path, opened: Vault, words: str) -> None:
    with pytest.raises(VaultmemError, match="when\\?"):
        opened.remind(words)
    with pytest.raises(UsageError, match="--at must be"):
        opened.remind(words, at="last week")
    assert not (vault / "vaultmem").exists()


def test_the_same_reminder_is_set_once_and_can_be_undone(opened: Vault) -> None:
    first = opened.remind("call Anne tomorrow at 3pm", by="claude")
    assert not opened.remind("call Anne tomorrow at 3pm")["created"]
    opened.undo(last=True)
    assert [one["id"] for one in opened.memories(deleted=True)] == [first["id"]]


def test_the_same_words_at_another_time_are_another_reminder(opened: Vault) -> None:
    opened.write("Call the plumber")  # which reminds of nothing
    first = opened.remind("Call the plumber", at="in 3 days")
    second = opened.remind("Call the plumber", at="in 4 days")
    weekly = opened.remind("Call the plumber", at="in 3 days", repeat="every week")
    assert all(one["created"] for one in (first, second, weekly))
    again = opened.remind("Call the plumber", at="in 4 days")
    assert (again["created"], again["id"]) == (False, second["id"])
    later = opened.remind("Call the plumber", at="in 10 days", repeat="every week")
    assert (later["created"], later["id"]) == (False, weekly["id"])
    assert later["remind"] == weekly["remind"], "what is there, not what was asked for"


RULES = [
    ("every month", "2090-01-01 09:00", "2090-03-01 09:00", "2090-01-15 09:00"),
    ("every week", "2090-01-02 18:00", "2090-01-16 18:00", "2090-01-05 18:00"),
    ("every week on Monday", "2090-01-02", "2090-01-09", "2090-01-04"),
    ("every year", "2090-02-01 10:00", "2092-02-01 10:00", "2090-08-01 10:00"),
    ("every 3 months", "2090-02-01 10:00", "2090-05-01 10:00", "2090-03-01 10:00"),
    ("every day", "2090-01-05 09:00", "2090-01-09 09:00", "2090-01-09 21:00"),
    ("every month", "2090-01-31", "2090-02-28", "2090-02-27"),
    ("every week for 2 times", "2090-01-02", "2090-01-09", "2090-01-16"),
]


@pytest.mark.parametrize(("rule", "first", "same", "other"), RULES)
def test_one_that_repeats_is_there_if_its_rule_leads_to_the_day(
    opened: Vault, rule: str, first: str, same: str, other: str
) -> None:
    kept = opened.remind("pay", at=first, repeat=rule)
    again = opened.remind("pay", at=same, repeat=rule)
    assert (again["created"], again["duplicate_of"]) == (False, kept["id"])
    assert (again["remind"], again["repeat"]) == (kept["remind"], rule)
    others = opened.remind("pay", at=other, repeat=rule)
    assert others["created"]
    assert others["remind"] == other.replace(" ", "T")
    written = [Path(opened.path, one["path"]).read_text() for one in (kept, others)]
    assert [split(one).properties["remind"] for one in written] == [
        first.replace(" ", "T"), other.replace(" ", "T"),
    ]  # fmt: skip


def test_one_that_repeats_may_be_there_from_a_later_day_on(opened: Vault) -> None:
    kept = opened.remind("pay", at="2090-03-01", repeat="every month")
    assert opened.remind("pay", at="2090-01-01", repeat="every month")["id"] == kept["id"]
    assert opened.remind("pay", at="2090-01-15", repeat="every month")["created"]


def test_a_day_that_is_none_is_not_the_same(opened: Vault) -> None:
    kept = opened.remind("pay", at="2090-03-01", repeat="every month")
    page = Path(opened.path, kept["path"])
    page.write_text(page.read_text().replace("2090-03-01", "2090-93-01"))
    assert opened.remind("pay", at="2090-03-01", repeat="every month")["created"]


def test_the_command_tells_for_when(vault: Path) -> None:
    said = ran(
        "remind", "call", "Anne", "tomorrow", "at", "3pm", "--vault", str(vault), "--format", "text"
    )
    assert said.code == 0
    assert said.out.startswith(f"reminds on {tomorrow()} 15:00: call Anne tomorrow at 3pm")
    shown = ran(
        "remind", "call Bob tomorrow", "--dry-run", "--vault", str(vault), "--format", "json"
    ).data
    assert shown["dry_run"]
    assert not (vault / "vaultmem" / "reminders" / "call Bob tomorrow.md").exists()
