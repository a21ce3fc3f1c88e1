"""When a person sets a reminder, it says when it reminds, in the person's words."""

import datetime as dt
import re
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.cli_run import on
from tests.effort import is_linear
from tests.tables import each_case
from vaultmem import Vault
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError
from vaultmem.notes.frontmatter import split
from vaultmem_languages import reminder_phrase, when

NOW = dt.datetime(2026, 11, 21, 10, tzinfo=ZoneInfo("Europe/Berlin"))
PHRASES = [
    line.partition(" => ")[::2]
    for line in Path(__file__).with_name("data").joinpath("reminder_phrases.txt").read_text("utf-8").splitlines()
    if " => " in line and not line.startswith("#")
]  # fmt: skip


def outcome(text: str) -> str:
    """What a reminder with these words is set for: a time and a rule, "! " and what is not understood, or "?"."""
    phrase = reminder_phrase.read(text, NOW)
    if phrase.moment is None:
        return "! " + " ".join(phrase.rest) if phrase.rest else "?"
    if phrase.rest:
        return "! " + " ".join(phrase.rest)
    rule = f" | {phrase.moment.repeat}" if phrase.moment.repeat else ""
    return phrase.moment.iso() + rule


@pytest.mark.parametrize("unit", ["9pm ", "明天"])
def test_a_long_text_costs_time_in_proportion_and_says_when_at_its_beginning(unit: str) -> None:
    assert is_linear(lambda size: reminder_phrase.read(unit * size, NOW), 250, 2_000)
    assert outcome(f"tomorrow at 9pm call Bob {'. ' * 4_000}") == "2026-11-22T21:00"


@pytest.mark.parametrize(("text", "wanted"), PHRASES, ids=[text for text, _ in PHRASES])
def test_every_word_of_a_time_is_understood_or_named(text: str, wanted: str) -> None:
    found = outcome(text)
    if wanted.startswith("!"):
        assert found.startswith("!")
        assert wanted[2:] in found
    elif wanted == "?":
        assert reminder_phrase.read(text, NOW).moment is None
    else:
        assert found == wanted
        phrase = reminder_phrase.read(text, NOW)
        left = [one for one in when.find(phrase.task, NOW) if one.relative]
        assert phrase.task
        # a day after it is part of it
        assert phrase.words not in [phrase.task[one.start : one.end] for one in left]


TASKS = {
    "call Anne tomorrow at 3pm": "call Anne",
    "Tomorrow: pay rent!": "pay rent!",
    "pay the rent before Friday": "pay the rent",
    "Friday: dentist at 10": "dentist",
    "dentist (Friday 10am)": "dentist",
    "Please remind me in two weeks to renew it": "Please remind me to renew it",
    "daily at 7am until next Friday drink tea": "drink tea",
    "buy tickets for Friday's concert tomorrow": "buy tickets for Friday's concert",
    "prepare slides for Monday": "prepare slides for Monday",
    "提醒我明天下午3点给安娜打电话": "提醒我给安娜打电话",
    "Erinnere mich am Freitag an den Zahnarzt": "Erinnere mich an den Zahnarzt",
    "am 20. Katrin bezahlen": "Katrin bezahlen",
    "den Klempner anrufen am Freitag um halb neun": "den Klempner anrufen",
    "在12月1日之前交房租": "交房租",
    "明日9時に薬を飲む": "薬を飲む",
    "morgen um 9 Anna anrufen": "Anna anrufen",
    "Miete zahlen bis 1. Dezember": "Miete zahlen",
    "call Anne tomorrow about the roof": "call Anne tomorrow (2026-11-22) about the roof",
    "Anne's birthday is tomorrow": "Anne's birthday is tomorrow (2026-11-22)",
    "安娜的生日是明天": "安娜的生日是明天（2026-11-22）",
    "tomorrow at 9": "tomorrow at 9 (2026-11-22)",
}


@pytest.mark.parametrize(("text", "task"), TASKS.items())
def test_a_task_reads_well_on_its_day(text: str, task: str) -> None:
    assert reminder_phrase.read(text, NOW).task == task


HEDGES = ["unless it rains", "except in August", "except the 5th", "of odd weeks", "in July", "and 17:00",
          "during term", "but not in the holidays", "after lunch", "twice", "in summer", "only"]  # fmt: skip
SAID = ["every day", "every Monday", "every Tuesday at 9", "every weekday at 8:30", "every month on the 5th",
        "fortnightly on Mondays", "daily at 7am", "every other Friday", "on Mondays", "every year on Dec 5"]  # fmt: skip


@pytest.mark.parametrize("hedge", HEDGES)
@pytest.mark.parametrize("said", SAID)
def test_a_rule_never_drops_what_stands_beside_it(said: str, hedge: str) -> None:
    for text in (
        f"{said} {hedge} call Anne",
        f"call Anne {said} {hedge}",
        f"remind me {said}, {hedge}, to call Anne",
    ):
        assert outcome(text).startswith("!"), text


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize(
    "text", ["call Anne", "water the plants", "the weekly shop at the market", "写周报"]
)
def test_what_is_plainly_text_may_stand_on_either_side(said: str, text: str) -> None:
    plain = outcome(said)
    assert " | " in plain
    for words in (
        f"{said} {text}",
        f"{text} {said}",
        f"remind me {said} to {text}",
        f"{said}: {text}",
    ):
        assert outcome(words) == plain, words


@pytest.mark.parametrize(
    ("words", "days"),
    [
        ("3/4 pay rent", "2027-03-04 or 2027-04-03"),
        ("pay rent by 3/4 at 9", "2027-03-04 or 2027-04-03"),
        ("pay rent on 1/2/2027", "2027-01-02 or 2027-02-01"),
    ],
)
def test_figures_that_may_be_two_days_are_refused_with_both(
    vault: Path, opened: Vault, words: str, days: str
) -> None:
    assert " or ".join(reminder_phrase.read(words, NOW).either) == days
    with pytest.raises(VaultmemError, match=r"may be .* or .*; write the day as one of these"):
        opened.remind(words)
    with pytest.raises(VaultmemError, match='"3/4" may be'):
        opened.remind("pay rent", at="3/4")
    assert not (vault / "vaultmem").exists()
    assert opened.remind("pay rent", at="4/4")["remind"].endswith("-04-04")


def tomorrow() -> str:
    return (dt.datetime.now().astimezone() + dt.timedelta(days=1)).date().isoformat()


@each_case(
    "words, at, says",
    [
        ("call Anne tomorrow at 3pm", None, "T15:00"),
        ("明天下午三点给妈妈打电话", None, "T15:00"),
        ("water the plants", "tomorrow at 7:30", "T07:30"),
        ("pay the rent tomorrow", None, ""),
        ("me to pay the rent tomorrow", None, ""),
        ("提醒我明天下午三点交房租", None, "T15:00"),
        ("Bitte erinnere mich morgen um 15 Uhr Müll rausbringen", None, "T15:00"),
    ],
)
def test_the_words_say_when(opened: Vault, words: str, at: str | None, says: str) -> None:
    said = opened.remind(words, at=at)
    assert said["remind"] == tomorrow() + says
    assert not said["content"].startswith(("me ", "提醒", "Bitte"))
    assert said["category"] == "reminders"
    kept = split(Path(opened.path, said["path"]).read_text()).properties
    assert kept["remind"] == said["remind"]
    assert opened.read(said["id"])["phase"] == "organized"
    assert "repeat" not in kept


@each_case(
    "words, times, rule",
    [
        ("take the pills tomorrow at 8:00, 14:00 and 20:00", ["T08:00", "T14:00", "T20:00"], None),
        ("take the pills every day at 8am and 8pm", ["T08:00", "T20:00"], "every day"),
        ("pills at 8:00, noon and 20:00 every day", ["T08:00", "T12:00", "T20:00"], "every day"),
        ("fetch the kids at 3pm and 4:30pm on Friday", ["T15:00", "T16:30"], None),
        ("每天8点和20点吃药", ["T08:00", "T20:00"], "every day"),
        ("jeden Tag um 8, 14 und 20 Uhr Tropfen", ["T08:00", "T14:00", "T20:00"], "every day"),
        ("Tabletten nehmen jeden Tag um 8 Uhr und 20 Uhr", ["T08:00", "T20:00"], "every day"),
        ("every morning and evening: stretch", ["T09:00", "T20:00"], "every day"),
    ],
)
def test_two_times_of_a_day_are_two_reminders(
    vault: Path, opened: Vault, words: str, times: list[str], rule: str | None
) -> None:
    would = opened.remind(words, dry_run=True)
    assert len(would["changes"]) == len(times)
    said = opened.remind(words)
    every = sorted([said["remind"], *said["also"]], key=lambda time: time[10:])
    assert [time[10:] for time in every] == times
    pages = [split(path.read_text()).properties for path in vault.rglob("reminders/*.md")]
    assert {page["remind"] for page in pages} == {*every}
    assert {said.get("repeat"), *(page.get("repeat") for page in pages)} == {rule}
    again = opened.remind(words)
    assert (again["created"], len([*vault.rglob("reminders/*.md")])) == (False, len(times))
    opened.undo(last=True)
    assert not [*vault.rglob("reminders/*.md")], "it was one change"


def test_reminders_in_the_same_words_at_other_times_are_all_recalled(opened: Vault) -> None:
    said = opened.remind("take the pills every day at 8:00 and 20:00")
    opened.sync()
    recalled = opened.recall("when do I take the pills?")["memories"]
    assert {memory["remind"] for memory in recalled} == {said["remind"], *said["also"]}


@pytest.mark.parametrize("words", ["buy milk", "call Anne on 2020-01-01", "第三点很重要"])
def test_without_a_time_to_come_nothing_is_written(vault: Path, opened: Vault, words: str) -> None:
    with pytest.raises(VaultmemError, match="when\\?"):
        opened.remind(words)
    with pytest.raises(UsageError, match='"at" must be'):
        opened.remind(words, at="last week")
    assert not (vault / "vaultmem").exists()


@pytest.mark.parametrize("words", ["tomorrow at 9", "remind me every Monday", "提醒我明天"])
def test_words_that_only_say_when_are_no_reminder(vault: Path, opened: Vault, words: str) -> None:
    with pytest.raises(VaultmemError, match="what\\?"):
        opened.remind(words)
    assert not (vault / "vaultmem").exists()


def test_the_same_words_at_another_time_are_another_reminder(opened: Vault) -> None:
    opened.write("Call the plumber")  # which sets no reminder
    first = opened.remind("Call the plumber", at="in 3 days")
    second = opened.remind("Call the plumber", at="in 4 days")
    weekly = opened.remind("Call the plumber", at="in 3 days", repeat="every week")
    assert all(one["created"] for one in (first, second, weekly))
    again = opened.remind("Call the plumber", at="in 4 days")
    assert (again["created"], again["id"]) == (False, second["id"])
    later = opened.remind("Call the plumber", at="in 10 days", repeat="every week")
    assert (later["created"], later["id"]) == (False, weekly["id"])
    assert later["remind"] == weekly["remind"], "what is there, not what was asked for"


def test_what_is_not_understood_is_named_and_nothing_is_set(vault: Path, opened: Vault) -> None:
    words = "water the roses every day except in August"
    with pytest.raises(VaultmemError, match=r'"except in August" is not understood.*a rule with '):
        opened.remind(words)
    with pytest.raises(UsageError, match='"unless" is not understood'):
        opened.remind("water the roses", at="every Monday unless it rains")
    with pytest.raises(UsageError, match="must be a rule"):
        opened.remind("water the roses", at="tomorrow", repeat="every day except in August")
    assert not (vault / "vaultmem").exists()
    said = opened.remind(words, at="2090-08-31", repeat="every month on the 31st")
    assert (said["remind"], said["repeat"]) == ("2090-08-31", "every month on the 31st")


def test_the_answer_says_what_was_understood(vault: Path, opened: Vault) -> None:
    said = opened.remind("every Tuesday at 9 starting 2090-12-05 yoga, until 2091-01-31")
    assert said["remind"] == "2090-12-05T09:00"
    assert said["repeat"] == "every week on Tuesday until 2091-01-31"
    assert said["understood"] == "every Tuesday at 9 starting 2090-12-05 until 2091-01-31"
    shown = on(vault, "remind", "stretch biweekly", "--format", "text").out
    assert "every 2 weeks (“biweekly”): stretch (" in shown
    repeated = opened.remind("pay", at="2090-01-02", repeat="fortnightly on Mondays")["repeat"]
    assert repeated == "every 2 weeks on Monday"


def test_no_job_makes_half_a_rule_of_a_reminder(opened: Vault) -> None:
    words = "Remind me every Monday unless it rains to water the roses."
    written = opened.write(words, category="reminders")
    opened.dream(2)
    assert (
        not {"remind", "repeat"}
        & split(
            next(Path(opened.path).rglob(f"{Path(written['path']).stem}.md")).read_text()
        ).properties.keys()
    )


def test_lines_of_notes_are_listed_without_relative_days(vault: Path, opened: Vault) -> None:
    lines = [
        "- [ ] call Bea tomorrow",
        "Remind me tomorrow to buy milk.",
        f"- [ ] pay rent on {tomorrow()}",
    ]
    (vault / "Day.md").write_text("\n\n".join(lines))
    opened.sync()
    listed = opened.ask("pending")["items"]
    assert {one["text"] for one in listed} == {"call Bea", "buy milk.", f"pay rent on {tomorrow()}"}
    assert {one["due"] for one in listed} == {tomorrow()}
    bea = next(one["id"] for one in listed if one["text"] == "call Bea")
    assert on(vault, "done", bea, "--format", "text").out.startswith("done: call Bea (")


RULES = [
    ("Anne", "every month", ("2090-01-01 09:00", "2090-03-01 09:00", "2090-01-15 09:00")),
    ("Bob", "every week", ("2090-01-02 18:00", "2090-01-16 18:00", "2090-01-05 18:00")),
    ("Carl", "every week on Monday", ("2090-01-02", "2090-01-09", "2090-01-04")),
    ("Dora", "every year", ("2090-02-01 10:00", "2092-02-01 10:00", "2090-08-01 10:00")),
    ("Emil", "every 3 months", ("2090-02-01 10:00", "2090-05-01 10:00", "2090-03-01 10:00")),
    ("Fred", "every day", ("2090-01-05 09:00", "2090-01-09 09:00", "2090-01-09 21:00")),
    ("Gina", "every month", ("2090-01-31", "2090-02-28", "2090-02-27")),
    ("Hugo", "every week for 2 times", ("2090-01-02", "2090-01-09", "2090-01-16")),
]


@each_case("name, rule, days", RULES)
def test_one_that_repeats_is_there_if_its_rule_leads_to_the_day(
    opened: Vault, name: str, rule: str, days: tuple[str, str, str]
) -> None:
    first, same, other = days
    kept = opened.remind(f"pay {name}", at=first, repeat=rule)
    again = opened.remind(f"pay {name}", at=same, repeat=rule)
    assert (again["created"], again["duplicate_of"]) == (False, kept["id"])
    assert (again["remind"], again["repeat"]) == (kept["remind"], rule)
    others = opened.remind(f"pay {name}", at=other, repeat=rule)
    assert others["created"]
    assert others["remind"] == other.replace(" ", "T")
    written = [Path(opened.path, one["path"]).read_text() for one in (kept, others)]
    assert [split(one).properties["remind"] for one in written] == [
        first.replace(" ", "T"), other.replace(" ", "T"),
    ]  # fmt: skip


def test_a_day_that_is_none_is_not_the_same(opened: Vault) -> None:
    kept = opened.remind("pay", at="2090-03-01", repeat="every month")
    page = Path(opened.path, kept["path"])
    page.write_text(page.read_text().replace("2090-03-01", "2090-93-01"))
    assert opened.remind("pay", at="2090-03-01", repeat="every month")["created"]


def test_the_command_tells_for_when(vault: Path) -> None:
    said = on(vault, "remind", "call", "Anne", "tomorrow", "at", "3pm", "--format", "text")
    assert said.code == 0
    assert said.out.startswith(f"reminds on {tomorrow()} 15:00: call Anne (")
    shown = on(vault, "remind", "call Bob tomorrow", "--dry-run", "--format", "json").data
    assert shown["dry_run"]
    assert shown["remind"] == tomorrow()
    plan = on(vault, "remind", "call Bob every day at 9", "--dry-run")
    assert "1 would be written" in plan.err
    assert plan.out.startswith("would be written: call Bob\n")
    last = plan.out.splitlines()[-1]
    assert re.fullmatch(r"would remind on [0-9-]{10} 09:00, every day \(“every day at 9”\)", last)
    assert not (vault / "vaultmem" / "reminders" / "call Bob.md").exists()


def test_a_reminder_is_edited_by_the_id_of_what_is_pending(opened: Vault, vault: Path) -> None:
    (vault / "Note.md").write_text("- [ ] Water the roses 📅 2031-05-02\n", encoding="utf-8")
    made = opened.remind("call Anne", at="2031-05-01T07:30")
    opened.sync()
    ids = {one["text"]: one["id"] for one in opened.pending(days=20_000)}
    edited = opened.edit(ids["call Anne"], "write to Anne on 2031-06-01 at 9:00")
    assert (edited["id"], edited["content"]) == (made["id"], "write to Anne")
    assert edited["remind"] == "2031-06-01T09:00"
    with pytest.raises(NoteNotFoundError, match=r"is not a memory: it stands in Note\.md:1"):
        opened.edit(ids["Water the roses"], "Water the tulips")
