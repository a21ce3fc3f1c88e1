"""What a subject may have one of at a time (a birthday, a port, a favourite editor), and who a subject is."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from vaultmem.text.values import lazy

# Values of facts, folded so that they compare: dates, numbers, articles, and pairs of words that exclude each other.

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH_NAMES = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY_FIRST = lazy(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH_NAMES})\b\.?")
_MONTH_FIRST = lazy(rf"\b({_MONTH_NAMES})\b\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])")
_ISO = lazy(r"(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})[日号]?(?!\d)")
_HAN_DAY = lazy(r"([\d一二三四五六七八九十]{1,3})月([\d一二三四五六七八九十]{1,3})[日号]?")
_DAY_TOKENS = lazy(r"m\d\d d\d\d")
_HAN_DIGITS = {digit: at for at, digit in enumerate("零一二三四五六七八九")}
_THOUSANDS = lazy(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = lazy(r"^(?:the|an?|my|our|your|some|any) +")
_AROUND = " \t.,;:!?\"'`“”‘’«»()[]{}*_。，；：！？、《》「」"
_HAN = lazy(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = lazy(r"[a-z]")
_TOKEN = lazy(r"[\u3400-\u4dbf\u4e00-\u9fff]+|[^\s\u3400-\u4dbf\u4e00-\u9fff,]+")

_VERSIONED = lazy(r"^(\S.*?)[ -]?(?:v(?:ersion )?(\d+(?:\.\d+)*)|(?<=[ -])(\d+(?:\.\d+)+))$")

_PAIRS = (
    "light dark", "bright dark", "tabs spaces", "short long", "brief detailed", "concise verbose", "concise detailed",
    "short detailed", "brief long", "on off", "enabled disabled", "true false", "yes no", "metric imperial",
    "12-hour 24-hour", "formal informal", "formal casual", "window aisle", "british american", "public private",
    "single-quoted double-quoted", "single double", "morning evening", "mornings evenings", "quiet loud", "hot cold",
    "sync async", "vertical horizontal", "left right", "early late", "snake_case camelcase", "merge rebase",
    "required optional", "open closed", "online offline", "paper digital", "celsius fahrenheit", "allowed forbidden",
    "深色 浅色", "暗色 亮色", "深色 亮色", "暗色 浅色", "简短 详细", "简洁 详细", "简短 冗长", "空格 制表符",
    "空格 tab", "早上 晚上", "早晨 晚上", "开启 关闭", "启用 禁用", "打开 关闭", "公开 私有",
    "正式 随意", "靠窗 靠过道",
    "中文 英文", "线上 线下", "必填 可选", "允许 禁止", "同步 异步", "甜 咸", "简体 繁体", "单引号 双引号",
)  # fmt: skip
_OPPOSITE: dict[str, set[str]] = {}
for _one, _other in (pair.split() for pair in _PAIRS):
    _OPPOSITE.setdefault(_one, set()).add(_other)
    _OPPOSITE.setdefault(_other, set()).add(_one)
_HAN_OPPOSITES = [word for word in _OPPOSITE if _HAN.match(word)]


def fold(text: str) -> str:
    """One spelling of a value: no case, no article, no punctuation around it, days as `m05 d03`."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())
    plain = _ARTICLES.sub("", plain.strip(_AROUND)).strip(_AROUND)
    if not any(letter.isdigit() for letter in plain) and "月" not in plain:
        return plain
    plain = _THOUSANDS.sub("", plain)
    plain = _ISO.sub(lambda m: f"{m[1]} {_day(m[2], m[3])}", plain)
    plain = _HAN_DAY.sub(lambda m: _day(m[1], m[2]), plain)
    plain = _DAY_FIRST.sub(lambda m: _day(m[2], m[1]), plain)
    return _MONTH_FIRST.sub(lambda m: _day(m[1], m[2]), plain)


def _day(month: str, day: str) -> str:
    return f"m{han_number(month):02d} d{han_number(day):02d}"


def han_number(text: str) -> int:
    """The number of "五", "十五" or "15"; 0 where it is none."""
    if text[:3] in _MONTHS:
        return _MONTHS.index(text[:3]) + 1
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return _HAN_DIGITS.get(text, 0)
    return 10 * _HAN_DIGITS.get(tens or "一", 0) + _HAN_DIGITS.get(ones, 0)


def is_day(value: str) -> bool:
    """Whether a folded value names a day of the year."""
    return _DAY_TOKENS.search(value) is not None


def differ(one: str, other: str) -> bool:
    """Whether two folded values cannot be the same thing said in other words."""
    if one == other or not one or not other or _other_script(one, other):
        return False
    if is_day(one) != is_day(other):
        return False  # "next week" and "3 May" may be the same day
    some, more = sorted((set(_TOKEN.findall(one)), set(_TOKEN.findall(other))), key=len)
    if some <= more:
        return False
    short, long = sorted((one.replace(" ", ""), other.replace(" ", "")), key=len)
    return short not in long or (short + long).isdecimal()


def versioned(value: str) -> tuple[str, str] | None:
    """Name and version of a folded value such as "python 3.11"; None where it ends in no version."""
    found = _VERSIONED.match(value)
    return (found[1], found[2] or found[3]) if found else None


def rivals(one: str, other: str) -> bool:
    """Whether two folded values are versions of one thing that exclude each other: 3.11.4 is still 3.11."""
    mine, theirs = versioned(one), versioned(other)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    pairs = zip(mine[1].split("."), theirs[1].split("."), strict=False)
    return any(a != b for a, b in pairs)


def _other_script(one: str, other: str) -> bool:
    """里斯本 and "Lisbon" are not different as far as we can tell."""
    if bool(_HAN.search(one)) == bool(_HAN.search(other)):
        return False
    return bool(_LATIN.search(one) or _LATIN.search(other))


def opposite(one: str, other: str) -> str | None:
    """What two folded values that are opposites share ("mode" of light mode and dark mode); None
    when they are no opposites."""
    if one == other:
        return None
    for word in one.split():
        rest = one.replace(word, "", 1).split()
        for against in _OPPOSITE.get(word, ()):
            if sorted(other.split()) == sorted([against, *rest]):
                return " ".join(rest)
    for word in _HAN_OPPOSITES:
        if word in one:
            for against in _OPPOSITE[word]:
                if one.replace(word, against, 1) == other:
                    return one.replace(word, "", 1).strip()
    return None


class Slot(NamedTuple):
    """A property by its name, and of whom or what."""

    owner: str  # folded; "" when nobody is named
    name: str


_ENGLISH = frozenset(
    "birthday birthdate port branch address email e-mail phone telephone hometown version timezone deadline name "
    "username nickname surname wife husband spouse boss age salary license licence url domain hostname host ip locale "
    "capital price budget timeout interval height weight anniversary passport nationality blood-type landlord rent "
    "endpoint region quota limit threshold hash codename framework-version encoding charset mascot".split()
)  # fmt: skip
_TWO_WORDS = {
    "phone number": "phone", "mobile number": "phone", "phone no": "phone", "email address": "email",
    "e-mail address": "email", "home address": "address", "time zone": "timezone", "due date": "deadline",
    "release date": "release date", "launch date": "release date", "date of birth": "birthday", "port number": "port",
    "blood type": "blood type", "version number": "version", "ip address": "ip", "user name": "username",
    "last name": "last name", "first name": "first name", "middle name": "middle name", "shoe size": "shoe size",
    "wedding day": "wedding day", "wedding date": "wedding day", "base url": "url", "line length": "line length",
    "indent width": "indent width", "home town": "hometown",
}  # fmt: skip
_SPELLINGS = {
    "e-mail": "email",
    "telephone": "phone",
    "licence": "license",
    "birthdate": "birthday",
}
# What is written in two ways on two sides of the sea, letter for letter the same thing.
_AMERICAN = {
    "colour": "color", "flavour": "flavor", "neighbour": "neighbor", "neighbourhood": "neighborhood",
    "favourite": "favorite", "organisation": "organization", "programme": "program", "centre": "center",
    "theatre": "theater",
}  # fmt: skip
_BRITISH = lazy(rf"\b(?:{'|'.join(_AMERICAN)})\b")
_CHOSEN = lazy(r"(?:^|\s)(favou?rite|preferred|default|primary|main) (\S+(?: \S+)?)$")
_POSSESSIVE = lazy(r"^(.+?)'s? (.+)$")
_OF = lazy(r"^(.+?) (?:of|for|in|on) (?:the )?(.+)$")
_MINE = lazy(r"^(my|our|your|his|her|their|its) (.+)$")
_PEOPLE = {
    "my": "user",
    "our": "we",
    "your": "you",
    "his": "he",
    "her": "she",
    "their": "they",
    "its": "it",
}

_CHINESE = {
    "生日": "birthday", "出生日期": "birthday", "端口": "port", "端口号": "port", "分支": "branch", "地址": "address",
    "住址": "address", "邮箱": "email", "电子邮箱": "email", "邮件地址": "email", "电话": "phone", "电话号码": "phone",
    "手机号": "phone", "手机": "phone", "版本": "version", "版本号": "version", "时区": "timezone",
    "截止日期": "deadline", "截止时间": "deadline", "期限": "deadline", "名字": "name", "姓名": "name",
    "用户名": "username", "昵称": "nickname", "老家": "hometown", "家乡": "hometown", "年龄": "age", "域名": "domain",
    "首都": "capital", "价格": "price", "预算": "budget", "超时": "timeout", "超时时间": "timeout", "妻子": "wife",
    "老婆": "wife", "太太": "wife", "丈夫": "husband", "老公": "husband", "上司": "boss",
    "房租": "rent", "身高": "height",
    "体重": "weight", "血型": "blood type", "鞋码": "shoe size", "发布日期": "release date", "上线日期": "release date",
    "纪念日": "anniversary", "国籍": "nationality", "工资": "salary", "密码长度": "password length",
    "阈值": "threshold",
    "主机名": "hostname", "许可证": "license",
}  # fmt: skip
_CHINESE_SLOT = lazy(
    "^(.*?)的?(" + "|".join(sorted(_CHINESE, key=len, reverse=True)) + ")$", re.DOTALL
)
_CHINESE_CHOSEN = lazy(r"^(.*?)(最喜欢的|最爱的|首选的?|默认的?)(.{1,12})$")

_USER = frozenset(("i", "me", "user", "用户", "我", "本人", "我自己"))
_WE = frozenset(("we", "us", "team", "我们", "咱们", "团队", "我们团队", "我司"))
_PRONOUNS = frozenset(
    "he she it they this that these those there which who what one everyone someone somebody everybody anyone nobody "
    "here him her them its you something everything nothing things 他 她 它 他们 她们 它们 这 那 这个 "
    "那个 这里 那里 谁 大家 "
    "有人 对方 你 您 别人 什么 这些 那些 此 该 其 哪里 怎么".split()
)  # fmt: skip


def canonical_subject(text: str) -> str:
    """A folded subject: the user, we, or what it says."""
    plain = fold(text)
    plain = plain.removeprefix("user ") if plain.startswith("user named ") else plain
    if plain in _USER:
        return "user"
    return "we" if plain in _WE else plain


def is_pronoun(subject: str) -> bool:
    """Whether nobody can tell from the text alone who that is."""
    return subject in _PRONOUNS


def slot(subject: str) -> Slot | None:
    """The slot that the subject of "… is …" ends in: "Anne's birthday", "生日"; None when it is none."""
    written = " ".join(subject.casefold().replace("’", "'").split())
    written = _BRITISH.sub(lambda found: _AMERICAN[found[0]], written)
    return _english_slot(written) or _chinese_slot(written)


def _english_slot(written: str) -> Slot | None:
    plain = re.sub(r"^(?:the|an?) ", "", written)
    named = _named(plain)
    if named:
        return Slot("", named)
    for pattern, owner, thing in ((_MINE, 1, 2), (_POSSESSIVE, 1, 2), (_OF, 2, 1)):
        found = pattern.match(plain)
        if found and (inner := _ending(found[thing])):
            whose = _PEOPLE.get(found[owner]) or canonical_subject(found[owner])
            return Slot(f"{whose} {inner.owner}".strip(), inner.name)
    return _ending(plain)


def _named(plain: str) -> str:
    """The canonical name of a slot; "" when these words are none."""
    if plain in _ENGLISH:
        return _SPELLINGS.get(plain, plain)
    return _TWO_WORDS.get(plain, "")


def _ending(plain: str) -> Slot | None:
    words = plain.split(" ")
    chosen = _CHOSEN.search(plain)
    for count in (3, 2, 1):
        name = _named(" ".join(words[-count:])) if len(words) >= count else ""
        if name and not (chosen and chosen[1].startswith("fav")):
            return Slot(canonical_subject(" ".join(words[:-count])), name)
    if chosen:
        kind = "favourite" if chosen[1].startswith("fav") else chosen[1]
        return Slot(canonical_subject(plain[: chosen.start()]), f"{kind} {chosen[2]}")
    return None


def _chinese_slot(written: str) -> Slot | None:
    chosen = _CHINESE_CHOSEN.match(written)
    if chosen and chosen[3] not in _CHINESE:
        kind = "favourite" if chosen[2].startswith("最") else chosen[2].rstrip("的")
        return Slot(canonical_subject(chosen[1].removesuffix("的")), f"{kind} {chosen[3]}")
    found = _CHINESE_SLOT.match(written)
    if not found:
        return None
    return Slot(canonical_subject(found[1].removesuffix("最后")), _CHINESE[found[2]])
