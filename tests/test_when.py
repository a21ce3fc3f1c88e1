"""Time expressions: the phrases that we promise, many more of the same kind, ordinary words, and laws."""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.effort import is_linear
from tests.laws import examples
from vaultmem.adapter import Moment
from vaultmem.text.recurrence import read_rule
from vaultmem.text.values import toml_table
from vaultmem_languages import intentions, reminder_phrase, when_translated
from vaultmem_languages.when import absolute, find, reminder
from vaultmem_languages.when_translated import in_english

PROMISED = json.loads(
    Path(__file__).with_name("data").joinpath("time_phrases.json").read_text("utf-8")
)
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 10, tzinfo=BERLIN)  # a Saturday


def lines(section: str) -> list[str]:
    """The lines of a section of data/times.txt."""
    text = Path(__file__).with_name("data").joinpath("times.txt").read_text("utf-8")
    return text.partition(f"[{section}]\n")[2].partition("\n\n[")[0].strip("\n").split("\n")


def only(text: str, now: datetime = NOW) -> str:
    """What `find` reads in a text that names one time."""
    return " | ".join(moment.iso() for moment in find(text, now))


@pytest.mark.parametrize("case", PROMISED["phrases"], ids=lambda case: case["text"])
def test_promised_phrases(case: dict[str, str | None]) -> None:
    assert only(str(case["text"])) == (case["when"] or "")


@pytest.mark.parametrize("case", PROMISED["recurring"], ids=lambda case: case["text"])
def test_promised_rules(case: dict[str, object]) -> None:
    [moment] = find(str(case["text"]), NOW)
    wanted = case["rule"]
    assert isinstance(wanted, dict)
    rule = read_rule(moment.repeat or "")
    assert rule is not None
    assert {"monthly": 1, "weekly": 2, "daily": 3}[wanted["freq"]] == rule.unit
    names = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
    assert [names[day.weekday] for day in rule.weekdays] == wanted.get("byday", [])
    assert list(rule.month_days) == wanted.get("bymonthday", [])
    assert moment.iso()[11:] == wanted.get("time", "")


@pytest.mark.parametrize("line", lines("meant"))
def test_what_a_phrase_means(line: str) -> None:
    text, _, wanted = line.partition(" =")
    assert only(text) == wanted.strip()


@pytest.mark.parametrize("line", lines("repeats"))
def test_what_repeats(line: str) -> None:
    text, rule, wanted = line.split(" = ")
    [moment] = find(text, NOW)
    assert (moment.repeat, moment.iso()) == (rule, wanted)
    assert read_rule(rule) is not None
    assert not moment.relative


@pytest.mark.parametrize("text", lines("ordinary"))
def test_ordinary_words_name_no_time(text: str) -> None:
    if text.startswith("今天"):  # the day is named, a time of it is not
        assert only(text) == "2026-11-21"
    else:
        assert only(text) == ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- [ ] dentist on Friday", "2026-11-27"),
        ("- [x] dentist on Friday", None),
        ("TODO tax return Dec 5", "2026-12-05"),
        ("I need to call Bob tomorrow", "2026-11-22"),
        ("Don’t forget the cake on Sunday!", "2026-11-22"),
        ("We talked on Friday about the roof", None),
        ("It may rain tomorrow", None),
        ("Book club moved to Tuesday, at the Hatchet", None),
        ("book a table for Tuesday", "2026-11-24"),
        ("I need sleep. It rains tomorrow.", None),
        ("The delay was due to snow on Monday", None),
        ("call Bob yesterday", None),
        ("The report is due on 2026-11-20", None),
        ("The report is due on 2026-12-20", "2026-12-20"),
        ("Send it by Friday 5pm", "2026-11-27T17:00"),
        ("call Bob this Friday, or next Friday", "2026-11-27"),
        ("> remind me tomorrow", None),
        ("remind me of `tomorrow`", None),
        ("remind me of [[tomorrow]]", None),
        ("```\nremind me tomorrow\n```", None),
        ("```\ncode\n```\nremind me tomorrow", "2026-11-22"),
        ("记得明天交作业", "2026-11-22"),
        ("作业截止12月5日", "2026-12-05"),
        ("12月5日之前交作业", "2026-12-05"),
        ("明天会下雨", None),
        ("每周一开会，记得带电脑", "2026-11-23"),
    ],
)
def test_only_plain_intent_is_a_reminder(text: str, wanted: str | None) -> None:
    moment = reminder(text, NOW)
    assert (moment.iso() if moment else None) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("call Bob tomorrow", "call Bob tomorrow (2026-11-22)"),
        ("We meet on the first Thursday of the month.", "We meet on the first Thursday of the month."),
        ("We meet on the first Thursday of next month.",
         "We meet on the first Thursday of next month (2026-12-03)."),
        ("明天开会", "明天（2026-11-22）开会"),
        ("3 天后复查", "3 天后（2026-11-24）复查"),
        ("Met Ann yesterday at 5pm, again next week.",
         "Met Ann yesterday at 5pm (2026-11-20), again next week (2026-W48)."),
        ("下个月搬家，去年买的房", "下个月（2026-12）搬家，去年（2025）买的房"),
        ("call Bob on Friday", "call Bob on Friday (2026-11-27)"),
        ("We talked on Friday", "We talked on Friday"),
        ("Dec 5 and 2026-12-01 and 12月5日", "Dec 5 and 2026-12-01 and 12月5日"),
        ("the shop opens at 9am every day", "the shop opens at 9am every day"),
        ("tomorrow (2026-11-22)", "tomorrow (2026-11-22)"),
        ("tomorrow, Nov 22", "tomorrow, Nov 22"),
        ("`tomorrow` [[tomorrow]]\n> tomorrow\n## tomorrow", "`tomorrow` [[tomorrow]]\n> tomorrow\n## tomorrow"),
        ("~~~\ntomorrow\n~~~\ntomorrow", "~~~\ntomorrow\n~~~\ntomorrow (2026-11-22)"),
        ("tomorrow's talk", "tomorrow's (2026-11-22) talk"),
        ("tonight at 1", "tonight at 1 (2026-11-21)"),
        ("Please reply within a week.", "Please reply within a week (2026-11-28)."),
        ("The invoice is payable within 30 days.", "The invoice is payable within 30 days."),
        ("Refunds within 14 days of purchase", "Refunds within 14 days of purchase"),
        ("发票30天内付款", "发票30天内付款"),
        ("I work three days from now on", "I work three days from now on"),
        ("I leave three days from now", "I leave three days from now (2026-11-24)"),
        ("call Bob on Friday at midnight", "call Bob on Friday at midnight (2026-11-27)"),
    ],
)  # fmt: skip
def test_relative_days_are_made_absolute_once(text: str, wanted: str) -> None:
    assert absolute(text, NOW) == wanted
    assert absolute(wanted, NOW + timedelta(days=400)) == wanted


@pytest.mark.parametrize(
    ("day", "wanted"), [(23, 27), (26, 27), (27, 29), (28, 29), (29, 29), (30, 34)]
)
def test_later_this_week_is_a_day_to_come(day: int, wanted: int) -> None:
    now = datetime(2026, 11, 1, 10, tzinfo=BERLIN) + timedelta(days=day - 1)
    text = "call Anne later this week"
    assert find(text, now)[0].when.date() == date(2026, 11, 1) + timedelta(days=wanted - 1)
    told = absolute(text, now)
    assert told == f"{text} ({now:%G-W%V})"
    [read] = find(told, now + timedelta(days=60))
    assert (read.when.isocalendar()[:2], read.relative) == (now.isocalendar()[:2], False)


@pytest.mark.parametrize(
    ("text", "now", "wanted"),
    [
        ("tomorrow at 2:30am", datetime(2026, 3, 28, 10, tzinfo=BERLIN), "2026-03-29T03:30"),
        ("in 2 hours", datetime(2026, 3, 29, 1, tzinfo=BERLIN), "2026-03-29T04:00"),
        ("in 24 hours", datetime(2026, 10, 24, 12, tzinfo=BERLIN), "2026-10-25T11:00"),
        ("in a month", datetime(2026, 1, 31, 10, tzinfo=BERLIN), "2026-02-28"),
        ("in a year", datetime(2028, 2, 29, 10, tzinfo=BERLIN), "2029-02-28"),
        ("on the 31st", datetime(2026, 11, 1, 10, tzinfo=BERLIN), "2026-12-31"),
        ("end of month", datetime(2028, 2, 3, 10, tzinfo=BERLIN), "2028-02-29"),
        ("on Friday", datetime(2026, 11, 27, 8, tzinfo=BERLIN), "2026-12-04"),
        ("next Monday", datetime(2026, 11, 23, 8, tzinfo=BERLIN), "2026-11-30"),
        ("下周一", datetime(2026, 11, 22, 8, tzinfo=BERLIN), "2026-11-23"),
        ("tomorrow", datetime(9999, 12, 31, tzinfo=UTC), ""),
        ("in 999 years, 三天前", datetime(1, 1, 1, 10, tzinfo=UTC), "1000-01-01"),
    ],
)
def test_unusual_days_are_understood(text: str, now: datetime, wanted: str) -> None:
    assert only(text, now) == wanted


WORDS = st.sampled_from(
    """tomorrow Friday next week month on at by 9am 14:30 the 5th Dec 5 2026 every Monday day in 3 days ago from
    before Sat May until starting except and biweekly for 3 times 除了 外 起 到 毎 曜 の から まで ( ) , . ` > # [[ ]] (2026-11-22) (2026-W48) (2027) 2026-12-01 end of half past night remind me
    call 明天 下周 周五 12月 5号 三点 半 每 天后 下午 前 （ ） 到 和 一 三 年底 \n - [ ]""".split(
        " "
    )
)
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(WORDS, max_size=14).map(" ".join),
    st.lists(WORDS, max_size=14).map("".join),
)
ADDED = re.compile(r"（\d{4}[-W0-9: ]*）| \(\d{4}[-W0-9: ]*\)")
quick = settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow])


@quick
@given(TEXTS)
def test_any_text_is_read_in_order_and_inside(text: str) -> None:
    moments = find(text, NOW)
    at = 0
    for moment in moments:
        assert at <= moment.start < moment.end <= len(text)
        assert moment.when.utcoffset() is not None
        assert moment.repeat is None or read_rule(moment.repeat) is not None
        at = moment.end
    phrase = reminder_phrase.read(text, NOW)
    assert phrase.moment is None or not phrase.moment.repeat or read_rule(phrase.moment.repeat)
    assert all(each in " ".join(text.split()) for each in phrase.rest)
    first = reminder(text, NOW)
    assert first is None or first.when > NOW or (first.all_day and first.when.date() == NOW.date())


@quick
@given(TEXTS)
def test_added_days_are_added_once_and_nothing_is_lost(text: str) -> None:
    told = absolute(text, NOW)
    assert absolute(told, NOW + timedelta(days=99)) == told
    if not ADDED.search(text):
        assert ADDED.sub("", told) == text


@quick
@given(st.datetimes(timezones=st.just(UTC)), WORDS, WORDS)
def test_no_day_is_too_far(aware: datetime, one: str, other: str) -> None:
    assert all(isinstance(moment, Moment) for moment in find(f"{one} {other}", aware))
    absolute(f"in 900 years {one} {other} 三百年前", aware)


@pytest.mark.parametrize(
    ("read", "parts"),
    [
        (
            absolute,
            ["1", "下", "every ", "一", "12月", "in 3 ", "[", "`", "1:00 ", "tomorrow ", "周一到"],
        ),
        (
            reminder_phrase.read,
            ["every day until ", "the first ", "毎週月曜から", "每天除了", "weekly and "],
        ),
        (lambda text, _: in_english(text), ["am 3. um halb bis zum jeden "]),
    ],
)
def test_reading_takes_linear_time(read: Callable[..., object], parts: list[str]) -> None:
    for part in parts:
        assert is_linear(
            lambda length, part=part: read(part * (length // len(part)), NOW), 500, 4_000
        )


GERMAN = "morgen heute um halb neun uhr am 20. 3.5. jeden ersten Freitag Freitagabend im Monat Mai bis zum in zwei Wochen x ß ,".split()  # fmt: skip


@given(st.lists(st.sampled_from([*GERMAN, *map(chr, range(32, 256))]), max_size=12))
def test_each_character_of_a_german_time_in_english_has_its_place(parts: list[str]) -> None:
    text = " ".join(parts)
    english, places = in_english(text)
    assert len(english) == len(places)
    assert list(places) == sorted(places)
    assert all(0 <= at < len(text) for at in places)
    for moment in find(text, NOW):
        assert 0 <= moment.start < moment.end <= len(text)
    reminder_phrase.read(text, NOW)


FRENCH = {
    "sign": r"(?<!\w)(?:demain|<day>|le \d{1,2} <month>|dans \d+ jours)(?!\w)", "day": "(?:lundi|mardi)",
    "month": "(?:mars|avril)", "end": r"(?!\w)", "days": "lundi = Monday, mardi = Tuesday",
    "months": "mars = March, avril = April", "numbers": "un = one",
    "forms_of_days": "<word> prochain<end> = next <english>\n<word><end> = <english>",
    "forms_of_months": r"le (\d{1,2}) <word><end> = on \1 <english>", "forms_of_numbers": "<word> jour<end> = <english> day",
    "phrases": "demain = tomorrow\ndans (?=\\d) = in \njours<end> = days\nà (\\d{1,2}) ?h<end> = at \\1:00",
}  # fmt: skip


def test_a_language_more_is_a_section_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    when_translated._signs.cache_clear()
    with monkeypatch.context() as patched:
        patched.setitem(toml_table("vaultmem_languages", "words"), "french_times", FRENCH)
        texts = "demain", "mardi prochain à 9 h", "dans 3 jours", "le 3 avril à 14h", "morgen"
        found = [find(f"appeler Anne {text}", NOW)[0].iso() for text in texts]
    when_translated._signs.cache_clear()
    assert found == [
        "2026-11-22",
        "2026-11-24T09:00",
        "2026-11-24",
        "2027-04-03T14:00",
        "2026-11-22",
    ]
    assert not find("appeler Anne demain", NOW)


@pytest.mark.parametrize(
    ("sentence", "when"),
    [
        ("I need to call the plumber tomorrow at 10.", "2026-11-22T10:00"),
        ("I still have to buy candles before Saturday.", "2026-11-28"),
        ("Ich muss morgen um 9 zum Arzt.", "2026-11-22T09:00"),
        ("I needed to leave on Friday.", None),
        ("I don't need to go tomorrow.", None),
        ("Do I need to pay tomorrow?", None),
        ("If I have to leave on Friday, she comes along.", None),
        ("I must have left it there on Monday.", None),
        ("I have to work on Saturdays.", None),
        ("Erinnere mich morgen daran, die Rechnung zu bezahlen.", "2026-11-22"),
        ("Die Rechnung ist spätestens am 3. Dezember zu zahlen.", "2026-12-03"),
        ("Vergiss bitte nicht, am Freitag Anne anzurufen.", "2026-11-27"),
        ("Denk daran, morgen um 9 den Müll rauszubringen.", "2026-11-22T09:00"),
        ("Ich denke daran, am Freitag zu kündigen.", None),
        ("Vergiss nicht, dass er am 1. Dezember fährt.", None),
        ("Ich erinnere mich, dass wir am Freitag gelacht haben.", None),
        ("Am 31. Dezember war es heiß.", None),
    ],
)
def test_sentences_that_want_something_done(sentence: str, when: str | None) -> None:
    found = intentions.moment(sentence, NOW)
    assert (found and found.iso()) == when
