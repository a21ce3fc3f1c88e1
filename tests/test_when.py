"""Time expressions: the phrases that we promise, many more of the same kind, ordinary words, and laws."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.effort import is_linear
from vaultmem.languages import reminder_phrase
from vaultmem.languages.recurrence import read_rule
from vaultmem.languages.when import Moment, absolute, find, iso, reminder

PROMISED = json.loads(
    Path(__file__).with_name("data").joinpath("time_phrases.json").read_text("utf-8")
)
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 10, tzinfo=BERLIN)  # a Saturday
DAY_CODES = {"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday"}


def only(text: str, now: datetime = NOW) -> str:
    """What `find` reads in a text that names one time."""
    return " | ".join(iso(moment) for moment in find(text, now))


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
    assert [str(day) for day in rule.weekdays] == wanted.get("byday", [])
    assert list(rule.month_days) == wanted.get("bymonthday", [])
    assert iso(moment)[11:] == wanted.get("time", "")


MEANT = """
call Bob tomorrow = 2026-11-22
call Bob Tomorrow. = 2026-11-22
tomorrow morning = 2026-11-22T09:00
tomorrow afternoon = 2026-11-22T15:00
tomorrow evening = 2026-11-22T20:00
tomorrow at noon = 2026-11-22T12:00
at midnight = 2026-11-22T00:00
tonight = 2026-11-21T20:00
tonight at midnight = 2026-11-22T00:00
tonight at 11:30 = 2026-11-21T23:30
this evening = 2026-11-21T20:00
today = 2026-11-21
day after tomorrow = 2026-11-23
the day after tomorrow at 8am = 2026-11-23T08:00
yesterday = 2026-11-20
the day before yesterday = 2026-11-19
last night = 2026-11-20T20:00
at 5pm = 2026-11-21T17:00
at 9am = 2026-11-22T09:00
at 9:30 p.m. = 2026-11-21T21:30
at 12am = 2026-11-22T00:00
at 12pm = 2026-11-21T12:00
at 14:30 = 2026-11-21T14:30
at 09:59 = 2026-11-22T09:59
tomorrow 14:30 = 2026-11-22T14:30
tomorrow at 3 = 2026-11-22T15:00
tomorrow at 9 = 2026-11-22T09:00
at half past 3 = 2026-11-21T15:30
tomorrow at quarter to 5 = 2026-11-22T16:45
tomorrow at a quarter past ten = 2026-11-22T10:15
tomorrow at ten to nine = 2026-11-22T08:50
at 7 o'clock tomorrow = 2026-11-22T07:00
at 8 in the evening = 2026-11-21T20:00
at 3 in the afternoon = 2026-11-21T15:00
tomorrow 9-10am = 2026-11-22T09:00
from 3 to 5pm tomorrow = 2026-11-22T15:00
on Monday = 2026-11-23
on Tuesday = 2026-11-24
on Wednesday = 2026-11-25
on Thursday = 2026-11-26
on Friday = 2026-11-27
on Saturday = 2026-11-28
on Sunday = 2026-11-22
by Fri = 2026-11-27
on Tues at 10 = 2026-11-24T10:00
by thurs 5pm = 2026-11-26T17:00
Wed 15:00 = 2026-11-25T15:00
Monday at 9am = 2026-11-23T09:00
Monday morning = 2026-11-23T09:00
Friday night at 12 = 2026-11-28T00:00
this Friday = 2026-11-20
next Friday = 2026-11-27
next Monday at noon = 2026-11-23T12:00
next Sunday = 2026-11-29
last Friday = 2026-11-20
the Monday after next = 2026-11-30
Friday, Dec 4 = 2026-12-04
Dec 4 (Friday) = 2026-12-04
a week from Monday = 2026-11-30
two weeks from tomorrow = 2026-12-06
the day after Dec 5 = 2026-12-06
2 days before Christmas = 2026-12-23
on Christmas Eve = 2026-12-24
by New Year's Eve = 2026-12-31
before Halloween = 2027-10-31
in two weeks = 2026-12-05
in 2 weeks = 2026-12-05
in a week = 2026-11-28
in a fortnight = 2026-12-05
in a month = 2026-12-21
in three months = 2027-02-21
in a year = 2027-11-21
in an hour = 2026-11-21T11:00
in half an hour = 2026-11-21T10:30
in an hour and a half = 2026-11-21T11:30
in two and a half hours = 2026-11-21T12:30
in 1.5 hours = 2026-11-21T11:30
in 2 hours 15 minutes = 2026-11-21T12:15
in 45 min = 2026-11-21T10:45
in 2h = 2026-11-21T12:00
in a couple of days = 2026-11-23
within 10 days = 2026-12-01
in 3 days at 9am = 2026-11-24T09:00
in three days' time = 2026-11-24
3 days from now = 2026-11-24
three weeks from today = 2026-12-12
3 days ago = 2026-11-18
two weeks ago = 2026-11-07
a month ago = 2026-10-21
an hour ago = 2026-11-21T09:00
next week = 2026-11-23
next week on Wednesday = 2026-11-25
Wednesday next week = 2026-11-25
the week after next = 2026-11-30
next month = 2026-12-01
next month on the 5th = 2026-12-05
the 5th of next month = 2026-12-05
the 5th of this month = 2026-11-05
next year = 2027-01-01
this weekend = 2026-11-21
next weekend = 2026-11-28
by end of next month = 2026-12-31
at the end of the month = 2026-11-30
end of this week = 2026-11-22
end of the year = 2026-12-31
by end of December = 2026-12-31
beginning of next month = 2026-12-01
mid-January = 2027-01-15
by EOD = 2026-11-21T18:00
by EOM = 2026-11-30
on the 5th = 2026-12-05
by the 30th = 2026-11-30
pay on the 25th at 8am = 2026-11-25T08:00
Dec 5 = 2026-12-05
Dec. 5 = 2026-12-05
5 Dec = 2026-12-05
5th of December = 2026-12-05
the 5th of December at 10:00 = 2026-12-05T10:00
December 5th = 2026-12-05
Dec 5-7 = 2026-12-05
Dec 5, 2027 = 2027-12-05
5 December 2027 = 2027-12-05
January 3 = 2027-01-03
Feb 14 = 2027-02-14
March 1 = 2027-03-01
on april 1 = 2027-04-01
May 5 = 2027-05-05
May 5th = 2027-05-05
Jun 30 = 2027-06-30
July 4th = 2027-07-04
Aug 8 = 2027-08-08
Sept 9 = 2027-09-09
Oct. 10 = 2027-10-10
Nov 20 = 2027-11-20
Nov 21 = 2026-11-21
Feb 29 = 2028-02-29
2026-12-01 = 2026-12-01
2026/12/5 = 2026-12-05
12/5/2026 = 2026-12-05
25/12/2026 = 2026-12-25
5.12.2026 = 2026-12-05
by 12/5 = 2026-12-05
2026-12-01T14:30 = 2026-12-01T14:30
2026-12-01T14:30:00Z = 2026-12-01T15:30
2026-12-01 at 3pm = 2026-12-01T15:00
the first Monday of next month = 2026-12-07
the last Friday of December = 2026-12-25
last day of school is tomorrow = 2026-11-22
明天 = 2026-11-22
明日上午 = 2026-11-22T09:00
后天 = 2026-11-23
後天 = 2026-11-23
大后天 = 2026-11-24
今天下午 = 2026-11-21T15:00
今晚 = 2026-11-21T20:00
明早 = 2026-11-22T09:00
明早8点 = 2026-11-22T08:00
明晚七点半 = 2026-11-22T19:30
昨天 = 2026-11-20
前天 = 2026-11-19
昨晚 = 2026-11-20T20:00
周一 = 2026-11-23
周三下午三点 = 2026-11-25T15:00
星期四 = 2026-11-26
礼拜五 = 2026-11-27
週日 = 2026-11-22
周六 = 2026-11-28
本周日 = 2026-11-22
这周五 = 2026-11-20
下周一上午10点 = 2026-11-23T10:00
下周日 = 2026-11-29
下个星期二 = 2026-11-24
下下周三 = 2026-12-02
上周五 = 2026-11-13
下周 = 2026-11-23
下周末 = 2026-11-28
周末 = 2026-11-21
下个月 = 2026-12-01
下个月3号 = 2026-12-03
下月底 = 2026-12-31
本月25日 = 2026-11-25
月底 = 2026-11-30
年底 = 2026-12-31
明年1月1日 = 2027-01-01
明年三月 = 2027-03-01
明年年底 = 2027-12-31
12月5日 = 2026-12-05
12月5号 = 2026-12-05
十二月五号 = 2026-12-05
１２月５日 = 2026-12-05
12月25日晚上8点 = 2026-12-25T20:00
二〇二六年十二月一日 = 2026-12-01
十二月底 = 2026-12-31
1月3日 = 2027-01-03
2月29日 = 2028-02-29
2026年12月1日14:30 = 2026-12-01T14:30
25号 = 2026-11-25
5号之前 = 2026-12-05
三天后 = 2026-11-24
3天后 = 2026-11-24
十天之后 = 2026-12-01
两周后 = 2026-12-05
两个星期后 = 2026-12-05
三个月后 = 2027-02-21
半年后 = 2027-05-21
一年后 = 2027-11-21
二十分钟后 = 2026-11-21T10:20
半小时后 = 2026-11-21T10:30
半个小时后 = 2026-11-21T10:30
一个半小时后 = 2026-11-21T11:30
两个半小时后 = 2026-11-21T12:30
两小时三十分钟后 = 2026-11-21T12:30
一刻钟后 = 2026-11-21T10:15
再过两周 = 2026-12-05
三天内 = 2026-11-24
三天前 = 2026-11-18
一个月前 = 2026-10-21
晚上十点一刻 = 2026-11-21T22:15
凌晨两点 = 2026-11-22T02:00
中午12点半 = 2026-11-21T12:30
中午十二点 = 2026-11-21T12:00
下午1点 = 2026-11-21T13:00
下午2点30分 = 2026-11-21T14:30
上午9点 = 2026-11-22T09:00
晚上12点 = 2026-11-22T00:00
今晚12点 = 2026-11-22T00:00
傍晚六点 = 2026-11-21T18:00
提醒我三点开会 = 2026-11-21T15:00
三点半开会 = 2026-11-21T15:30
明天9:30开会 = 2026-11-22T09:30
14:30开会 = 2026-11-21T14:30
明天下午两点到四点 = 2026-11-22T14:00
差五分十点 = 2026-11-22T09:55
元旦 = 2027-01-01
元旦前一天 = 2026-12-31
国庆节 = 2027-10-01
圣诞节前两天 = 2026-12-23
12月5日前一天 = 2026-12-04
下周二三点 = 2026-11-24T15:00
by Friday EOD = 2026-11-27T18:00
due:Friday = 2026-11-27
deadline:2026-12-15 = 2026-12-15
remind me in the morning = 2026-11-22T09:00
Monday the 30th = 2026-11-30
Tuesday the 1st at 9 = 2026-12-01T09:00
11/30 at 2pm = 2026-11-30T14:00
12/5前 = 2026-12-05
on the last day of the month = 2026-11-30
the last day of next month = 2026-12-31
截止日期：2026-12-10 = 2026-12-10
到期：2028年12月10日 = 2028-12-10
截止时间：17:00 = 2026-11-21T17:00
截止时间：5点 = 2026-11-21T17:00
2026 年 12 月 1 日下午 2 点 30 分 = 2026-12-01T14:30
明天上午 9 点半 = 2026-11-22T09:30
下个月 5 号 = 2026-12-05
3 天后 = 2026-11-24
提醒我上午9点开会 = 2026-11-22T09:00
提醒我早上吃药 = 2026-11-22T09:00
提醒我晚上九点吃药 = 2026-11-21T21:00
记得晚上倒垃圾 = 2026-11-21T20:00
星期天下午三点 = 2026-11-22T15:00
本月最后一天 = 2026-11-30
十二月最后一天 = 2026-12-31
下个月第一个周一 = 2026-12-07
这个月最后一个周五 = 2026-11-27
tomorrow before 5pm = 2026-11-22T17:00
明天（周日） = 2026-11-22
下周五（11月27日）交 = 2026-11-27
later this week = 2026-11-22
later this week on Sunday = 2026-11-22
first of December = 2026-12-01
the second of May 2027 at 9 = 2027-05-02T09:00
remind me in 1h30m = 2026-11-21T11:30
in 2h 5m = 2026-11-21T12:05
2 h 15 m from now = 2026-11-21T12:15
in 1h30 = 2026-11-21T11:30
in 1h 30 people come = 2026-11-21T11:00
Mon. 9am = 2026-11-23T09:00
Fri. Dec 4 = 2026-12-04
Thurs. at 3pm = 2026-11-26T15:00
on Tues at 3pm = 2026-11-24T15:00
Sat. 9am = 2026-11-28T09:00
Friday. Dec 4 = 2026-11-27 | 2026-12-04
Friday midnight = 2026-11-28T00:00
Dec 31 at midnight = 2027-01-01T00:00
by midnight = 2026-11-22T00:00
明天零点 = 2026-11-22T00:00
27年12月5日 = 2027-12-05
26 年 12 月 5 日 = 2026-12-05
他今年30岁 =
她今年已经三十多岁了 =
今年3月 = 2026-03-01
"""


@pytest.mark.parametrize("line", MEANT.strip().splitlines())
def test_what_a_phrase_means(line: str) -> None:
    text, _, wanted = line.partition(" =")
    assert only(text) == wanted.strip()


REPEATS = """
every day = every day = 2026-11-22
every morning = every day = 2026-11-22T09:00
every day at 18:00 = every day = 2026-11-21T18:00
every other day = every 2 days = 2026-11-23
every 3 days = every 3 days = 2026-11-24
every Monday = every week on Monday = 2026-11-23
every Saturday at 18:00 = every week on Saturday = 2026-11-21T18:00
every Saturday at 9am = every week on Saturday = 2026-11-28T09:00
every Tuesday and Thursday at 7pm = every week on Tuesday, Thursday = 2026-11-24T19:00
every mon, wed and fri = every week on Monday, Wednesday, Friday = 2026-11-23
every other Tuesday = every 2 weeks on Tuesday = 2026-11-24
every week on Friday = every week on Friday = 2026-11-27
every two weeks on Friday = every 2 weeks on Friday = 2026-11-27
every weekday at 8:30 = every weekday = 2026-11-23T08:30
on weekdays at 8:30 = every weekday = 2026-11-23T08:30
on Mondays at 9 = every week on Monday = 2026-11-23T09:00
every weekend = every week on Saturday, Sunday = 2026-11-22
every month = every month = 2026-12-21
every month on the 5th = every month on the 5th = 2026-12-05
the 5th of every month = every month on the 5th = 2026-12-05
on the last day of every month = every month on the last = 2026-11-30
the first Monday of every month = every month on the 1st Monday = 2026-12-07
the last Friday of each month at 4pm = every month on the last Friday = 2026-11-27T16:00
every quarter = every 3 months = 2027-02-21
every year on Dec 5 = every December on the 5th = 2026-12-05
every December 24th = every December on the 24th = 2026-12-24
weekly on Friday at 17:00 = every week on Friday = 2026-11-27T17:00
daily at 7am = every day = 2026-11-22T07:00
yearly on March 3 = every March on the 3rd = 2027-03-03
每天 = every day = 2026-11-22
每天早上8点 = every day = 2026-11-22T08:00
每晚十点 = every day = 2026-11-21T22:00
每周一 = every week on Monday = 2026-11-23
每星期三下午三点 = every week on Wednesday = 2026-11-25T15:00
每个周五 = every week on Friday = 2026-11-27
每周一、三、五 = every week on Monday, Wednesday, Friday = 2026-11-23
每周二和周四 = every week on Tuesday, Thursday = 2026-11-24
每周一到周五早上八点 = every weekday = 2026-11-23T08:00
每个工作日 = every weekday = 2026-11-23
每个工作日上午9点 = every weekday = 2026-11-23T09:00
每两周 = every 2 weeks = 2026-12-05
每隔一天 = every 2 days = 2026-11-23
每周末 = every week on Saturday, Sunday = 2026-11-22
每月5号 = every month on the 5th = 2026-12-05
每个月15日上午十点 = every month on the 15th = 2026-12-15T10:00
每两周一次 = every 2 weeks = 2026-12-05
every first Monday of the month = every month on the 1st Monday = 2026-12-07
每月底 = every month on the last = 2026-11-30
每月最后一天 = every month on the last = 2026-11-30
每月第一个周一 = every month on the 1st Monday = 2026-12-07
每年12月5日 = every December on the 5th = 2026-12-05
每季度 = every 3 months = 2027-02-21
every month on the last Friday at 4pm = every month on the last Friday = 2026-11-27T16:00
monthly on the first Monday = every month on the 1st Monday = 2026-12-07
monthly on the last day = every month on the last = 2026-11-30
每月 1 号 = every month on the 1st = 2026-12-01
每天早上 8 点半 = every day = 2026-11-22T08:30
每 2 周 = every 2 weeks = 2026-12-05
每逢周五 = every week on Friday = 2026-11-27
周一到周五每天早上8点 = every weekday = 2026-11-23T08:00
工作日每天 = every weekday = 2026-11-23
每半年 = every 6 months = 2027-05-21
每年三月体检 = every March on the 1st = 2027-03-01
每年三月上课 = every March on the 1st = 2027-03-01
每年 12 月份 = every December on the 1st = 2026-12-01
每年12月25 = every December on the 25th = 2026-12-25
每年三月中旬 = every March on the 15th = 2027-03-15
隔周五 = every 2 weeks on Friday = 2026-11-27
每隔一个星期三 = every 2 weeks on Wednesday = 2026-11-25
隔周五次 = every 2 weeks = 2026-12-05
every first of the month = every month on the 1st = 2026-12-01
every last day of the month at 9am = every month on the last = 2026-11-30T09:00
every Friday at midnight = every week on Saturday = 2026-11-28T00:00
every month on the 5th at midnight = every month on the 5th = 2026-12-05T00:00
every day at midnight = every day = 2026-11-22T00:00
"""


@pytest.mark.parametrize("line", REPEATS.strip().splitlines())
def test_what_repeats(line: str) -> None:
    text, rule, wanted = line.split(" = ")
    [moment] = find(text, NOW)
    assert (moment.repeat, iso(moment)) == (rule, wanted)
    assert read_rule(rule) is not None
    assert not moment.relative


ORDINARY = """
I may go
you may 5 times repeat it
we sat down
sat 3 hours in a chair
version 3.12
version 2026.12.5
v3.12 is out
第三点
第 3 点
2 点建议
5 号线
花了 2 天
分辨率 16:10 的屏幕
9/10 points
三点建议
三点意见和两点要求
sun is shining
the Sun rises
in 3 parts
march on
march 3 miles
一点也不
今天一点都不重要的事
有一点累
周到
天天向上
聪明天生
雨后天晴
以前天气好
今后天下太平
先天和后天性
a second
one second thought
3:1
the ratio is 16:10
call 555-1234
+49 30 1234567
13800138000
it costs $12.50
¥300
192.168.1.10
10.0.0.12
chapter 5
on the 5th floor
the second time
at 9 dollars
at 5%
at 3 places
multiply by 5
5号线
3号楼
一周一次
一周五天
每周三次
four weeks
took two weeks
for 3 days
a day or so
ten to fifteen people
two to three
every one of them
every 30 minutes
everyday life
weekly report
monthly budget
Black Friday
Good Friday
one fine day
Jan Smith
dec 45
2026-13-01
2026-02-30
2月30日
13月1日
25:00
1/2 cup
24/7
5/10 points
ISBN 2026-12-05-001
these days
the other day
圆周三分
三天
两周
一年级
半天
周围
第二天
月亮
下月球
四周年
几点了
早点睡
minutes of the meeting
half of it
in 2026
mon ami
they wed
"""


@pytest.mark.parametrize("text", ORDINARY.strip().splitlines())
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
        ("- [-] dentist on Friday", None),
        ("TODO tax return Dec 5", "2026-12-05"),
        ("I need to call Bob tomorrow", "2026-11-22"),
        ("Don’t forget the cake on Sunday!", "2026-11-22"),
        ("We talked on Friday about the roof", None),
        ("The museum opens at 9am", None),
        ("It may rain tomorrow", None),
        ("I need sleep. It rains tomorrow.", None),
        ("The delay was due to snow on Monday", None),
        ("call Bob yesterday", None),
        ("The report is due on 2026-11-20", None),
        ("The report is due on 2026-12-20", "2026-12-20"),
        ("Send it by Friday 5pm", "2026-11-27T17:00"),
        ("call Bob today", "2026-11-21"),
        ("call Bob this Friday, or next Friday", "2026-11-27"),
        ("> remind me tomorrow", None),
        ("# Remind me tomorrow", None),
        ("remind me of `tomorrow`", None),
        ("remind me of [[tomorrow]]", None),
        ("remind me of [tomorrow](tomorrow.md)", None),
        ("```\nremind me tomorrow\n```", None),
        ("```\ncode\n```\nremind me tomorrow", "2026-11-22"),
        ("记得明天交作业", "2026-11-22"),
        ("作业截止12月5日", "2026-12-05"),
        ("12月5日之前交作业", "2026-12-05"),
        ("明天会下雨", None),
        ("昨天开会了", None),
        ("每周一开会，记得带电脑", "2026-11-23"),
    ],
)
def test_only_plain_intent_is_a_reminder(text: str, wanted: str | None) -> None:
    moment = reminder(text, NOW)
    assert (iso(moment) if moment else None) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("call Bob tomorrow", "call Bob tomorrow (2026-11-22)"),
        ("明天开会", "明天（2026-11-22）开会"),
        ("3 天后复查", "3 天后（2026-11-24）复查"),
        ("Met Ann yesterday at 5pm, again next week.",
         "Met Ann yesterday at 5pm (2026-11-20), again next week (2026-W48)."),
        ("下个月搬家，去年买的房", "下个月（2026-12）搬家，去年（2025）买的房"),
        ("in 30 minutes", "in 30 minutes (2026-11-21 10:30)"),
        ("call Bob on Friday", "call Bob on Friday (2026-11-27)"),
        ("We talked on Friday", "We talked on Friday"),
        ("Dec 5 and 2026-12-01 and 12月5日", "Dec 5 and 2026-12-01 and 12月5日"),
        ("the shop opens at 9am every day", "the shop opens at 9am every day"),
        ("tomorrow (2026-11-22)", "tomorrow (2026-11-22)"),
        ("tomorrow, Nov 22", "tomorrow, Nov 22"),
        ("明天（11月22日）", "明天（11月22日）"),
        ("`tomorrow` [[tomorrow]]\n> tomorrow\n## tomorrow", "`tomorrow` [[tomorrow]]\n> tomorrow\n## tomorrow"),
        ("~~~\ntomorrow\n~~~\ntomorrow", "~~~\ntomorrow\n~~~\ntomorrow (2026-11-22)"),
        ("tomorrow's talk", "tomorrow's (2026-11-22) talk"),
        ("tonight at 1", "tonight at 1 (2026-11-21)"),
        ("他今年30岁", "他今年（2026）30岁"),
        ("call Bob on Friday at midnight", "call Bob on Friday at midnight (2026-11-27)"),
    ],
)  # fmt: skip
def test_stale_words_get_their_day(text: str, wanted: str) -> None:
    assert absolute(text, NOW) == wanted
    assert absolute(wanted, NOW + timedelta(days=400)) == wanted


def test_an_added_day_is_what_is_read_later() -> None:
    later = NOW + timedelta(days=30)
    assert only("call Bob tomorrow at 9am (2026-11-22)", later) == "2026-11-22T09:00"
    assert only("下周（2026-W48）", later) == "2026-11-23"
    assert only("call Bob Friday midnight (2026-11-27)", later) == "2026-11-28T00:00"


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
def test_odd_days(text: str, now: datetime, wanted: str) -> None:
    assert only(text, now) == wanted


@pytest.mark.parametrize("day", range(14))
def test_a_bare_weekday_is_the_next_one_after_today(day: int) -> None:
    now = NOW + timedelta(days=day)
    for offset, name in enumerate(("周一", "周二", "周三", "周四", "周五", "周六", "周日")):
        found = date.fromisoformat(only(name, now))
        assert found.weekday() == offset
        assert 1 <= (found - now.date()).days <= 7


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
quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


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
    "part", ["1", "下", "every ", "一", "12月", "in 3 ", "[", "`", "1:00 ", "tomorrow ", "周一到"]
)
def test_reading_takes_linear_time(part: str) -> None:
    assert is_linear(lambda length: absolute(part * (length // len(part)), NOW), 2_000, 16_000)


@pytest.mark.parametrize(
    "part", ["every day until ", "the first ", "毎週月曜から", "每天除了", "weekly and "]
)
def test_a_long_reminder_takes_linear_time(part: str) -> None:
    def read(length: int) -> object:
        return reminder_phrase.read(part * (length // len(part)), NOW)

    assert is_linear(read, 2_000, 16_000)
