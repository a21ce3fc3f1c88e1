"""Time expressions in Chinese: 后天下午三点半, 下个月3号, 每周一上午9点, 元旦前一天."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache

from vaultmem.text.times import LAST, calendar_day, day_after, month_after
from vaultmem.text.values import lazy
from vaultmem_languages import words
from vaultmem_languages.when_parts import (
    Grain,
    Repeat,
    Sense,
    day_of,
    later,
    monday,
    nth_weekday,
    rules,
    shift_date,
    together,
    weekday_near,
    weekly,
)
from vaultmem_languages.when_words import han_number

DIGITS = "零〇一二两三四五六七八九十"
_N = rf"(?:\d{{1,3}}|[{DIGITS}]{{1,3}})"
_WEEK = "(?:周|星期|礼拜)"
_DAY = "[一二三四五六日天]"
# Characters after which a weekday is part of another word: 周一次, 周日程, 周天气, 下周一周.
_NOT_A_DAY = (
    r"(?![次周个般样直共]|(?<=日)[程常报期志]|(?<=天)(?:[气天空晴]|下(?!午))|(?<=[三四五六])[天人])"
)
_NTH = rf"(?:第(?P<nth>[一二三四1-4])个?|(?P<last>最后一?个?)){_WEEK}(?P<weekday>{_DAY})"
_FIRST = "初(?!十?[一二三四五六七八九十])"  # 初一 is a day of the lunar month
_WHICH = "上上|下下|上|下|这|本"
_WHICH_STEP = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_UNITS = {
    "分钟": "minute", "刻钟": "quarter hour", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "周": "week",
    "星期": "week", "礼拜": "week", "月": "month", "季度": "quarter year", "年": "year",
}  # fmt: skip
_UNIT = "|".join(_UNITS)
_NEAR_DAYS = {
    "大大后": 4, "大后": 3, "后": 2, "明": 1, "今": 0, "昨": -1, "前": -2, "大前": -3,
}  # fmt: skip
_PARTS = {
    "凌晨": "small hours", "清晨": "morning", "早上": "morning", "早晨": "morning", "清早": "morning",
    "午前": "morning", "上午": "morning", "中午": "noon", "正午": "noon", "午后": "afternoon", "下午": "afternoon",
    "傍晚": "dusk", "晚上": "evening", "晚间": "evening", "夜里": "evening", "夜晚": "evening",
    "半夜": "late", "深夜": "late", "午夜": "late",
}  # fmt: skip
_SHORT_PARTS = {"早": "morning", "朝": "morning", "晚": "evening", "夜": "evening"}
_REMIND = ("提醒我", "叫我", "记得")
_HOLIDAYS = {
    "元旦": 101, "情人节": 214, "妇女节": 308, "劳动节": 501, "青年节": 504, "儿童节": 601, "教师节": 910,
    "国庆": 1001, "平安夜": 1224, "圣诞": 1225,
}  # fmt: skip
# Words after which "3月", "5号" and "三点" are not a month, a day or a time.
_NOT_A_MONTH = f"[{DIGITS}\\d底末初上中下旬的最第个天雨]"
_NOT_A_NUMBER = "[线楼房院店门机文桌位球公车码选室馆厅井库铺口坑电]|柜|座|站|矿|舰|病|馆|人物"
_NOT_A_CLOCK = (
    "[也都点儿没不小上下共式]|(?<=一点)[^钟半整]|建议|意见|要求|原因|理由|内容|重要|说明|问题|注意|好处"
    "|启示|看法|体会|感想|希望|结论"
)


# After 今年: an age, which is not a time.
AGE = lazy(rf" ?[已经也才刚满都快]{{0,2}} ?(?:\d{{1,3}}|[{DIGITS}百]{{1,4}})[多几]? ?周?岁")


def _place(match: re.Match[str]) -> int:
    """The day of a month: by number, or 月初, 月中旬, 月底."""
    places = {"底": LAST, "末": LAST, "最后一天": LAST, "初": 1, "中": 15}
    return places.get(match["place"] or "", han_number(match["day"]))


def _weekday(char: str) -> int:
    """0 for Monday; Saturday for 周末."""
    return "一二三四五六日".find({"天": "日", "末": "六"}.get(char, char))


def _date(match: re.Match[str], now: datetime) -> Sense | None:
    """2026年12月5日, 26年12月5日, 明年三月, 今年年底."""
    near, named = match["near"], match["year"]
    year = now.year + {"去": -1, "今": 0, "明": 1, "后": 2}[near] if near else han_number(named)
    year += 2000 if year < 100 else 0
    month, number = han_number(match["month"]), _place(match)
    if match["end"]:
        month, number = 12, LAST
    first = calendar_day(year, month or 1, number or 1)
    if not first:
        return None
    return Sense(
        day=first,
        grain="day" if number else "month" if month else "year",
        relative=bool(near),
        weak=bool(named and not number),
    )


def _month_day(match: re.Match[str], _: datetime) -> Sense | None:
    """12月5号, 十二月底."""
    month, number = han_number(match["month"]), _place(match) or han_number(match["digits"])
    if not (number and calendar_day(2000, month, number)):  # a leap year
        return None
    return Sense(month=month, number=number)


def _month_alone(match: re.Match[str], _: datetime) -> Sense | None:
    """三月份, 3月: in a reminder, where it opens or ends the words."""
    month = han_number(match["month"])
    return Sense(month=month, grain="month", weak=True) if 1 <= month <= 12 else None


def _month(match: re.Match[str], now: datetime) -> Sense | None:
    """下个月, 下月3号, 本月底, 下个月第一个周一."""
    start = month_after(now.date().replace(day=1), _WHICH_STEP[match["which"]])
    if start and match["weekday"]:
        nth = LAST if match["last"] else han_number(match["nth"])
        return Sense(day=nth_weekday(start, _weekday(match["weekday"]), nth), relative=True)
    number = _place(match)
    day = start and calendar_day(start.year, start.month, number or 1)
    return Sense(day=day, grain="day" if number else "month", relative=True) if day else None


def _period_end(match: re.Match[str], now: datetime) -> Sense | None:
    today = now.date()
    if match[0].startswith("年"):
        return Sense(day=calendar_day(today.year, 12, LAST), relative=True)
    if match["start"]:
        number = 15 if match["start"] == "月中" else 1
        return Sense(day=day_of(Sense(number=number), today), relative=True)
    return Sense(day=calendar_day(today.year, today.month, LAST), relative=True)


def _near_day(match: re.Match[str], now: datetime) -> Sense | None:
    near, part = match["near"] or match["soon"] or match["past"], match["part"]
    day = day_after(now.date(), _NEAR_DAYS[near])
    spoken = "" if not part else "morning" if part in "早晨" else "evening"
    return Sense(day=day, part=spoken, relative=True) if day else None


@cache
def _titles() -> tuple[str, ...]:
    return tuple(title for title in words("notions", "titles").split("|") if len(title) > 1)


def _week(match: re.Match[str], now: datetime) -> Sense | None:
    """下周, 下周五, 本周末."""
    start = monday(now.date(), _WHICH_STEP[match["which"]])
    named = match[0] == "上周" and match.string.startswith(_titles(), match.end())  # 不上周老师的课
    if not start or named:
        return None
    if match["day"]:
        day = day_after(start, _weekday(match["day"]))
        return Sense(day=day, through=_through(match), relative=True)
    if match["end"]:
        return Sense(day=day_after(start, 5), relative=True)
    return Sense(day=start, grain="week", relative=True)


def _bare_weekday(match: re.Match[str], now: datetime) -> Sense | None:
    if match["end"]:
        today = now.date()
        saturday = day_after(today, 5 - today.weekday())
        return Sense(day=max(today, saturday), relative=True) if saturday else None
    return Sense(weekday=_weekday(match["day"]), through=_through(match), relative=True)


def _through(match: re.Match[str]) -> int | None:
    return _weekday(match["through"]) if match["through"] else None


def _delta(match: re.Match[str], now: datetime) -> Sense | None:
    """三天后, 两个半小时后, 半年后, 一小时三十分钟后, 三天前."""
    if not (match["again"] or match["way"]):
        return None
    amount = 0.5 if match["half"] else float(han_number(match["n"]))
    amount += 0.5 if match["and_half"] or match["more_half"] else 0
    way = -1 if (match["way"] or "").endswith("前") else 1
    if match["unit"] == "月" and not (match["half"] or match["counter"] or match["and_half"]):
        return None
    sense = later(now, way * amount, _UNITS.get(match["unit"], "minute"))  # 30分後
    if not match["n2"]:
        return sense
    more = later(now, way * float(han_number(match["n2"])), _UNITS[match["unit2"]])
    return together(sense, more, now)


def _weekday_ahead(match: re.Match[str], now: datetime) -> Sense | None:
    """两周后的周一, 一个月后的周五."""
    day = shift_date(now.date(), han_number(match["n"]), _UNITS[match["unit"]])
    return weekday_near(day, _weekday(match["day"]))


def _part(match: re.Match[str], _: datetime) -> Sense | None:
    before = match.string[max(0, match.start() - 3) : match.start()]
    led = before.endswith(_REMIND) or match.string.startswith("に", match.end())
    return Sense(part=(_PARTS | _SHORT_PARTS)[match[0]], weak=not led)


def _clock(match: re.Match[str], _: datetime) -> Sense | None:
    """三点半, 十点一刻, 8点30, 差五分十点."""
    minute_word = match["quarter"] or match["minute"] or match["short"] or ""
    hour = han_number(match["hour"])
    quarters = {"半": 30, "一刻": 15, "三刻": 45}
    minute = quarters.get(minute_word, han_number(minute_word))
    if match["to"]:
        minute -= quarters.get(match["to"], han_number(match["to"].removesuffix("分")))
    if hour > 24 or minute > 59 or (hour == 24 and minute > 0):
        return None
    before = match.string[max(0, match.start() - 3) : match.start()]
    led = before.endswith(("在", "于", "时间:", *_REMIND))
    sure = bool(minute_word or match["sharp"] or match["to"] or (led and match["mark"] == "点"))
    return Sense(clock=hour * 60 + minute, dial="bare", weak=not sure)


def _number(match: re.Match[str], _: datetime) -> Sense | None:
    number = han_number(match[1])
    if not 1 <= number <= 31:
        return None
    return Sense(number=number, relative=True, weak=match[2] == "日")


def _holiday(match: re.Match[str], _: datetime) -> Sense | None:
    month, number = divmod(_HOLIDAYS[match[1]], 100)
    return Sense(month=month, number=number)


def _shift(match: re.Match[str], _: datetime) -> Sense | None:
    if match["eve"]:
        return Sense(shift=-1, weak=True)
    days = han_number(match["n"])
    return Sense(shift=-days if match["way"] == "前" else days, weak=True)


def _days_alone(match: re.Match[str], _: datetime) -> Sense | None:
    """周一三五, 周一、周三和周五."""
    return weekly(tuple(sorted({_weekday(day) for day in re.findall(_DAY, match["days"])})))


def _every_weekday(match: re.Match[str], _: datetime) -> Sense | None:
    """每周一, 每周一三五, 每周一到周五, 每两周周二."""
    text = re.sub(rf"每|的|个|{_WEEK}(?=.)", "", match["days"])
    days: list[int] = []
    for char in re.findall(rf"[到至~-]{_DAY}|{_DAY}", text):
        day = _weekday(char[-1])
        days += range(days[-1] + 1, day + 1) if len(char) > 1 and days else [day]
    return Sense(repeat=Repeat("week", 1, tuple(sorted(set(days)))))


def _every_unit(match: re.Match[str], _: datetime) -> Sense | None:
    """每天, 每晚, 每两周, 每隔一天, 每季度, 每个工作日, 每周末."""
    unit, part = match["unit"], {"早": "morning", "晚": "evening"}.get(match["unit"], "")
    if unit in {"工作日", "周末"}:
        days = (5, 6) if unit == "周末" else (0, 1, 2, 3, 4)
        return Sense(repeat=Repeat("week", 1, days))
    interval = (han_number(match["n"]) or 1) + (1 if match["gap"] else 0)
    if unit == "季度":
        return Sense(repeat=Repeat("month", 3 * interval))
    named = _UNITS.get(unit, "day")
    grains: dict[str, Grain] = {"day": "day", "week": "week", "month": "month", "year": "year"}
    return Sense(repeat=Repeat(grains[named], interval), part=part)


def _workdays(match: re.Match[str], _: datetime) -> Sense | None:
    return Sense(repeat=Repeat("week", 1, (0, 1, 2, 3, 4)), weak=bool(match["alone"]))


def _every_month(match: re.Match[str], _: datetime) -> Sense | None:
    """每月5号, 每月底, 每月最后一天, 每月第一个周一, 每年12月5日."""
    if match["weekday"]:
        nth = LAST if match["last"] else han_number(match["nth"])
        weekday = _weekday(match["weekday"])
        return (
            Sense(repeat=Repeat("month", 1, (weekday,), nth)) if nth in {-1, 1, 2, 3, 4} else None
        )
    month = han_number(match["month"]) or None
    number = han_number(match["day"]) or (1 if match["place"] == "初" else LAST)
    if not calendar_day(2000, month or 1, number):
        return None
    return Sense(repeat=Repeat("year" if month else "month"), month=month, number=number)


def _month_of_year(match: re.Match[str], _: datetime) -> Sense | None:
    """每年三月: on its first day."""
    month = han_number(match["month"])
    return Sense(repeat=Repeat("year"), month=month, number=1) if 1 <= month <= 12 else None


def _every_other_weekday(match: re.Match[str], _: datetime) -> Sense | None:
    """隔周五, 每隔一周五."""
    return Sense(repeat=Repeat("week", 2, (_weekday(match["day"]),)))


_EVERY_DAYS = (
    rf"每[逢到]?个?{_WEEK}的?{_WEEK}?(?P<days>{_DAY}{_NOT_A_DAY}"
    rf"(?:[、,和及与到至~-]?(?:每?个?{_WEEK})?{_DAY}{_NOT_A_DAY}){{0,6}})(?:每天)?"
)
_HOUR_UNTIL = rf"(?:[到至~-](?:{'|'.join(_PARTS)})?{_N}[点时]半?)?"
RULES = rules(
    (_EVERY_DAYS, _every_weekday),
    (rf"(?<![{DIGITS}\d个每几半圆上下本这]){_WEEK}(?P<days>{_DAY}(?:[、,和及与]?{_WEEK}?{_DAY}{_NOT_A_DAY}){{2,6}})(?![点时])",
     _days_alone),
    (rf"(?:{_WEEK}一[到至~-]{_WEEK}?五|工作日|平日)的?每[天日]|(?<![个\d])(?P<alone>工作日|平日)", _workdays),
    ("每半年", lambda _match, _now: Sense(repeat=Repeat("month", 6))),
    ((rf"每(?:年的?(?P<month>{_N})月|个?月的?)(?:(?P<day>{_N})[号日]|(?P<place>[底末]|{_FIRST}|最后一天)"
     rf"|{_NTH})"), _every_month),
    (rf"每年的?(?P<month>{_N})月份?(?!份|[底末初]|[中下]旬|的?最后|的?第|\d)", _month_of_year),
    (rf"每?隔一?个?{_WEEK}的?(?P<day>{_DAY}){_NOT_A_DAY}", _every_other_weekday),
    ((rf"每(?P<gap>隔)?(?P<n>{_N})?个?(?P<unit>天|日|早(?!上)|晚(?!上)|周末|工作日|{_WEEK}|月|季度|年)"
     r"(?![二两三四五六七八九十\d]次)"), _every_unit),
    (r"(?P<gap>隔)(?P<n>一)?(?P<unit>天|日|周)(?!壁)", _every_unit),
    ((rf"(?:(?:(?P<near>[今明后去])年|(?P<year>\d{{4}}|[〇零一二三四五六七八九]{{4}}"
     rf"|\d\d(?=年{_N}月{_N}[日号]))年)"
     rf"(?:的?(?P<month>{_N})月(?:(?P<day>{_N})[日号]?|份?(?P<place>[底末]|{_FIRST}|中(?=旬)))?"
     r"|的?年?(?P<end>[底末]))?)旬?"), _date),
    ((rf"(?P<month>{_N})月(?:份?(?:(?P<day>{_N})[日号]|的?(?P<place>[底末]|{_FIRST}|最后一天|中(?=旬)))旬?"
     r"|(?P<digits>\d{1,2})(?![\d.个月]))"), _month_day),
    (rf"(?P<month>{_N})月份?(?!{_NOT_A_MONTH})", _month_alone),
    (rf"(?P<which>{_WHICH})个?月(?!球|亮)的?(?:(?P<day>{_N})[日号]|(?P<place>[底末]|{_FIRST}|最后一天|中(?=旬))|{_NTH})?旬?",
     _month),
    (rf"(?<![个\d岁正腊冬闰])(?:月底|月末|(?P<start>月{_FIRST}|月中(?!旬|国|午|秋|文))|年底|年末)", _period_end),
    ((rf"(?P<which>{_WHICH})一?个?{_WEEK}(?:的?{_WEEK}?(?P<day>{_DAY}){_NOT_A_DAY}|(?P<end>末))?"
     rf"(?:[到至~-]{_WEEK}?(?P<through>{_DAY}))?"), _week),
    ((rf"(?<![{DIGITS}\d个每几半圆])(?:{_WEEK}(?P<day>{_DAY}){_NOT_A_DAY}(?<!周天)|周(?P<end>末))"
     rf"(?:[到至~-]{_WEEK}?(?P<through>{_DAY}))?"), _bare_weekday),
    (rf"(?:再?过)?(?P<n>{_N})个?(?P<unit>{_WEEK}|月)[之以]?后的?{_WEEK}(?P<day>{_DAY}{_NOT_A_DAY}|末)",
     _weekday_ahead),
    ((rf"(?P<again>再?过)?(?:(?P<half>半)个?|(?P<n>{_N})(?:(?P<and_half>个半)|(?P<counter>个))?)"
     rf"(?P<unit>{_UNIT}|分(?=后))(?P<more_half>半)?(?:零?(?P<n2>{_N})个?(?P<unit2>分钟|小时))?"
     r"(?P<way>(?:之|以)?后(?!来)|以?内|(?:之|以)?前(?!往))?"), _delta),
    ((r"(?<![今以之然最先])(?P<near>大大后|大后|后)天\u3000{0,2}(?![气晴空然性花培])"
     r"|(?<![聪说证文透发声表])(?P<soon>[今明昨])(?:[天日儿]\u3000?(?!头条|赋|才)|(?P<part>[早晨晚夜])上?)"
     r"|(?<![之以目从])(?P<past>大?前)天(?![气晴空真])"), _near_day),
    ((rf"(?:差(?P<to>一刻|{_N}分))?(?P<hour>{_N})(?:[到至~-]{_N}(?=点))?(?P<mark>点|时(?![候间常代刻髦光]))(?!{_NOT_A_CLOCK})"
     rf"(?P<sharp>钟|整)?(?:(?P<quarter>半|[一三]刻)|(?P<minute>{_N})分|(?P<short>\d\d|[零〇二三四五]?[十零〇][{DIGITS}]?))?"
     rf"{_HOUR_UNTIL}"), _clock),
    (rf"{'|'.join(_PARTS)}|[早晚朝夜](?={_N}(?:[点时]|:\d\d))", _part),
    (rf"({_N})(号|日)(?!{_NOT_A_NUMBER})", _number),
    (rf"({'|'.join(_HOLIDAYS)})节?(?!树|老人|礼|快乐|帽|歌)", _holiday),
    (rf"的?(?:(?P<eve>前[夕夜])|第?(?P<way>[前后])(?P<n>{_N})天)", _shift),
)  # fmt: skip
STARTS = f"每隔平工今明后去昨前大下上这本周星礼月年再过半差凌清早朝中正午下傍晚夜深元情妇劳青儿教国平圣的第{DIGITS}"
