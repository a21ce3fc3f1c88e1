"""Laws of statements: what a short text states as a fact, and which facts exclude each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.languages.slots import differ, fold, opposite
from vaultmem.languages.statements import CAP, Statement, contradiction, contradicts, statements

SENTENCES = [
    line.split("\t")[2]
    for path in sorted((Path(__file__).parent / "data" / "classification").glob("*.tsv"))
    for line in path.read_text("utf-8").splitlines()
]

# text, subject, property, value, single
STATED = [
    ("Anne's birthday is 3 May", "anne", "birthday", "m05 d03", True),
    ("The deploy branch is main", "deploy", "branch", "main", True),
    ("I prefer tabs", "user", "prefers", "tabs", False),
    ("user prefers dark mode", "user", "prefers", "dark mode", False),
    ("my favourite editor is Vim", "user", "favourite editor", "vim", True),
    ("Vim is my favorite editor.", "user", "favourite editor", "vim", True),
    ("部署分支是 main", "部署", "branch", "main", True),
    ("我喜欢深色模式", "user", "likes", "深色模式", False),
    ("Anne lives in Lisbon", "anne", "lives in", "lisbon", True),
    ("we use Postgres for billing", "we", "uses", "postgres", False),
    ("port: 8100", "", "port", "8100", True),
    ("The API listens on port 8100", "api", "port", "8100", True),
    ("the port of the API is 8,100", "api", "port", "8100", True),
    ("小王的生日是五月三日", "小王", "birthday", "m05 d03", True),
    ("小李在阿里工作", "小李", "works at", "阿里", True),
    ("我最喜欢的编辑器是 Vim", "user", "favourite 编辑器", "vim", True),
    ("I am 34 years old.", "user", "age", "34", True),
    ("I’m 34", "user", "age", "34", True),
    ("The user is 34 years old now", "user", "age", "34", True),
    ("My wife is 34 years old", "user wife's", "age", "34", True),
    ("Anne Blyth is a 34-year-old", "anne blyth", "is", "34-year-old", False),
    ("My son is 3 years old", "son", "is", "3 years old", False),
    ("I'm 34.5", "user", "is", "34.5", False),
    ("我今年三十四岁了", "user", "age", "34", True),
    ("用户今年（2026）30岁", "user", "age", "30", True),
    ("My favourite colour is red", "user", "favourite color", "red", True),
    ("- Prefers short answers", "user", "prefers", "short answers", False),
]

CONTRADICTORY = [
    ("Anne's birthday is 3 May", "Anne's birthday is on May 4th"),
    ("The deploy branch is main", "The deploy branch is master"),
    ("I prefer tabs", "The user prefers spaces"),
    ("user prefers dark mode", "I prefer light mode"),
    ("My favourite editor is Vim", "My favorite editor is Emacs"),
    ("Vim is my favourite editor", "my favourite editor is Helix"),
    ("My favorite color is blue", "My favourite colour is red"),
    ("The programme's deadline is 3 May", "The program's deadline is 4 May"),
    ("I am 34 years old", "I am 35 years old"),
    ("The user is 34 years old", "I'm 35"),
    ("My age is 34", "I'm 35 years old"),
    ("Anne is 34 years old", "Anne is 35 years old"),
    ("我34岁", "用户35岁"),
    ("我今年十八岁", "用户今年（2027）十九岁了"),
    ("我的年龄是34", "我35岁了"),
    ("Anne lives in Lisbon", "Anne lives in Porto"),
    ("The user lives in Lisbon", "The user just moved to Madrid"),
    ("I live in Lisbon", "I've moved from Lisbon to Rio de Janeiro last month, with my family"),
    ("Anne lives in Lisbon", "Two weeks ago Anne relocated to Den Haag for work"),
    ("Anne lives in Lisbon", "Anne moved to Chicago"),
    ("I live in Lisbon", "I moved to Madrid"),
    ("I live in Lisbon", "I moved to McAllen from Paris on 3 May"),
    ("I live in Lisbon", "I moved to the Netherlands for work"),
    ("I live in Lisbon", "I moved to Islamabad for good"),
    ("用户住在上海", "用户搬到天津了"),
    ("用户住在上海", "用户刚刚搬到北京了"),
    ("用户住在上海", "用户上个月（2026-10）从上海搬去杭州住了"),
    ("Anne lives in Lisbon.", "Note: Anne doesn't live in Lisbon anymore."),
    ("port: 8100", "port: 8200"),
    ("The port of the API is 8100", "API port: 9000"),
    ("The API listens on port 8100", "The API port is 80"),
    ("We use Postgres for billing", "We don't use Postgres"),
    ("I like coriander", "I can't stand coriander"),
    ("I love oat milk", "I hate oat milk"),
    ("Dana likes mushrooms", "Dana doesn't like mushrooms"),
    ("I prefer tea over coffee", "I prefer coffee over tea"),
    ("I prefer trains to planes", "I prefer planes"),
    ("Anne is vegetarian", "Anne is not vegetarian"),
    ("The test server is public", "The test server isn't public"),
    ("I always use semicolons", "I never use semicolons"),
    ("Ben works at Shopify", "Ben works for Google"),
    ("my phone number is 555 0192", "My phone number is 555 0193"),
    ("time zone: Europe/Lisbon", "time zone: Asia/Shanghai"),
    ("The deadline for the report is 3 May", "The deadline for the report is 10 May"),
    ("The default shell is zsh", "The default shell is fish"),
    ("Prefers short answers", "Prefers long answers"),
    ("My wife is called Anne", "My wife is Petra"),
    ("部署分支是 main", "部署分支是 master"),
    ("我喜欢深色模式", "我喜欢浅色模式"),
    ("小王的生日是五月三日", "小王的生日是5月4日"),
    ("小王住在上海", "小王住在北京"),
    ("我喜欢香菜", "我不喜欢香菜"),
    ("用户讨厌语音消息", "用户喜欢语音消息"),
    ("端口：8100", "端口：8200"),
    ("默认端口是 3000", "默认端口是 8080"),
    ("我最喜欢的编辑器是 Vim", "我最喜欢的编辑器是 Emacs"),
    ("比起咖啡我更喜欢茶", "比起茶我更喜欢咖啡"),
    ("小李在阿里工作", "小李在腾讯工作"),
    ("我对花生过敏", "我对花生不过敏"),
    ("我们使用 Redis", "我们不再使用 Redis"),
    ("用户偏好简短的回答", "用户偏好详细的回答"),
    ("Settings of the shop server.\nport: 8100", "Settings of the shop server.\nport: 8200"),
    ("We chose PostgreSQL over MySQL", "We chose MySQL over PostgreSQL"),
    ("We chose PostgreSQL over MySQL.", "The team chose MySQL over PostgreSQL for now."),
    ("我们选择 PostgreSQL 而不是 MySQL", "我们选择 MySQL 而不是 PostgreSQL"),
    ("we use Redis for caching", "we do not use Redis for caching"),
    ("We decided to use Redis for caching", "We decided not to use Redis for caching"),
    ("我们决定使用Redis", "我们决定不使用Redis"),
    ("The office is on the third floor", "The office is on the fourth floor."),
    ("The office is on the third floor", "The office is on the 4th floor."),
    ("办公室在三楼", "办公室在十二楼"),
    ("We use Python 3.11", "We use Python 3.13"),
    ("我们使用 Python 3.11", "我们使用 Python 3.13"),
    ("rotate keys every 30 days", "rotate keys every 90 days"),
    ("Rotate the keys every 30 days.", "We rotate keys every three weeks."),
    ("密钥每30天轮换一次", "密钥每90天轮换一次"),
]

COMPATIBLE = [
    ("Anne likes tea", "Anne likes coffee"),
    ("Anne lives in Lisbon", "Bob lives in Porto"),
    ("My son is 3 years old", "My son is 5 years old"),
    ("My wife is Anne", "My wife is 34 years old"),
    ("I was 34 years old", "I am 35 years old"),
    ("I will be 35 years old", "I am 34 years old"),
    ("My age is 34", "I am 34 years old"),
    ("I'm 34", "I am thirty-four"),
    ("I am 34 years old", "I am 2 metres tall"),
    ("She is 34 years old", "She is 35 years old"),
    ("My favourite colour is red", "My favorite color is red"),
    ("我34岁", "我三十四岁"),
    ("我的年龄是34岁", "我34岁"),
    ("明年我35岁", "我34岁"),
    ("孩子3岁", "孩子5岁"),
    ("the port was 80 in 2019", "the port is 8100"),
    ("Anne lives in Lisbon", "Anne lives in Lisbon, Portugal"),
    ("Anne's birthday is 3 May", "Anne's birthday is May 3rd"),
    ("Anne's birthday is 3 May", "Anne's birthday is 3 May 1990"),
    ("Anne's birthday is 3 May", "Anne's birthday is next week"),
    ("We use Postgres for billing", "We use SQLite for tests"),
    ("We use Postgres for billing", "We don't use Postgres for tests"),
    ("The port is 8100 on staging", "The port is 80 in production"),
    ("I prefer tabs", "I prefer tea"),
    ("I prefer tabs over spaces", "I prefer tabs"),
    ("She lives in Lisbon", "She lives in Porto"),
    ("It is red", "It is not red"),
    ("If the port is 80, restart", "The port is 8100"),
    ("Is the port 80?", "The port is 8100"),
    ("The port might be 80", "The port is 8100"),
    ("Anne said the port is 80", "The port is 8100"),
    ("Anne is a nurse", "Anne is a mother"),
    ("I like dark chocolate", "I like light chocolate"),
    ("Anne speaks French", "Anne speaks German"),
    ("Ben works at Shopify", "Ben works from home"),
    ("The branch is main", "The branch is the main branch"),
    ("Version 2 is out", "Version 3 is out"),
    ("My favourite editor is Vim", "My favourite colour is green"),
    ("Anne's favourite editor is Vim", "My favourite editor is Emacs"),
    ("I used to live in Leeds", "I live in York"),
    ("database: postgres", "database: PostgreSQL"),
    ("Anne prefers tea in the morning", "Anne prefers coffee in the evening"),
    ("# Billing\nport: 8100", "# Shop\nport: 80"),
    ("I don't hate tea", "I love tea"),
    ("The meeting is on Monday", "The meeting is on Tuesday"),
    ("My favourite editors are Vim and Emacs", "My favourite editor is Helix"),
    ("Dana likes oat milk and hates tea", "I like tea"),
    ("我喜欢茶", "我喜欢咖啡"),
    ("小王住在上海", "小李住在北京"),
    ("以前端口是 80", "端口是 8100"),
    ("小王的生日是五月三日", "小王的生日是5月3号"),
    ("他住在上海", "他住在北京"),
    ("小王会说法语", "小王会说德语"),
    ("如果端口是 80 就重启", "端口是 8100"),
    ("端口是 80 吗？", "端口是 8100"),
    ("Anne lives in Lisbon", "Anne 住在里斯本"),
    ("我们用 Postgres 做账单", "我们用 SQLite 做测试"),
    ("我喜欢深色巧克力", "我喜欢浅色衣服"),
    ("测试环境端口是 80", "生产环境端口是 8100"),
    ("我最喜欢的编辑器是 Vim", "我最喜欢的颜色是绿色"),
    ("爸爸爱喝浓茶，不爱喝饮料", "我爱喝饮料"),
    ("Notes on the shop.\nThe deadline is 3 May", "The deadline is 10 June"),
    ("The bakery opens in March. Budget: 40k.", "Budget: 12k. The kiln is ordered."),
    ("I have to return the books", "I don't have the books"),
    ("我们不用 Redis 做队列", "我们用 Redis 做缓存"),
    ("We chose PostgreSQL over MySQL", "We chose PostgreSQL over SQLite"),
    ("We chose PostgreSQL over MySQL for billing", "We chose MySQL over PostgreSQL for the shop"),
    ("We use Python 3.11", "We use Python 3.11.4"),
    ("We use Python 3.11", "We use Node 20.1"),
    ("We use Python 3.11 on the server", "We use Python 3.13 in the lab"),
    ("We use Python 3.11 and Python 3.13", "We use Python 3.11"),
    ("The office is on the third floor", "The kitchen is on the fourth floor"),
    ("The office is on the third floor", "The office is on the 3rd floor"),
    ("办公室在三楼", "办公室在第3层"),
    ("rotate keys every 14 days", "Rotate the keys every two weeks"),
    ("rotate keys every 30 days", "rotate keys every month"),
    ("rotate keys every 30 days", "rotate logs every 90 days"),
    ("I call Mum every Monday", "I call Mum every Friday"),
    ("She calls every 3 days", "She calls every 5 days"),
    ("Do not rotate keys every 30 days", "Rotate keys every 90 days"),
]


@pytest.mark.parametrize(("text", "subject", "kind", "value", "single"), STATED)
def test_a_fact_is_taken_apart(
    text: str, subject: str, kind: str, value: str, single: bool
) -> None:
    [found] = statements(text)
    assert (found.subject, found.property, found.value, found.single) == (
        subject, kind, value, single,
    )  # fmt: skip
    assert not found.negated


@pytest.mark.parametrize(("one", "other"), CONTRADICTORY)
def test_a_contradiction_is_told_with_both_sides(one: str, other: str) -> None:
    told = contradiction(one, other)
    assert told is not None
    assert told.count("“") == 2
    assert "\n" not in told
    for statement in statements(one):
        said = one[slice(*statement.span)]
        assert said in told or not any(contradicts(statement, t) for t in statements(other))


@pytest.mark.parametrize(("one", "other"), CONTRADICTORY)
def test_it_does_not_matter_which_comes_first(one: str, other: str) -> None:
    assert contradiction(other, one) is not None


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_what_may_both_be_true_gives_no_alarm(one: str, other: str) -> None:
    assert contradiction(one, other) is None
    assert contradiction(other, one) is None


@pytest.mark.parametrize(("one", "other"), [*CONTRADICTORY, *COMPATIBLE])
def test_nothing_contradicts_itself(one: str, other: str) -> None:
    assert contradiction(one, one) is None
    assert contradiction(other, other) is None


def test_hundreds_of_unrelated_memories_hardly_contradict_each_other() -> None:
    found = [(text, fact) for text in SENTENCES for fact in statements(text)]
    assert len(found) > 100  # else the silence would mean nothing
    alarms = [
        (text, other)
        for at, (text, fact) in enumerate(found)
        for other, against in found[at + 1 :]
        if contradicts(fact, against)
    ]
    assert not alarms


def test_denials_and_what_is_preferred_to_what_are_kept() -> None:
    assert statements("Anne doesn't like tea")[0].negated
    assert statements("小王不喜欢香菜")[0].negated
    [tabs] = statements("I prefer tabs over spaces")
    assert (tabs.value, tabs.over) == ("tabs", "spaces")
    used, not_used = statements("We use Postgres instead of MySQL")
    assert (used.value, used.negated) == ("postgres", False)
    assert (not_used.value, not_used.negated) == ("mysql", True)


def test_a_span_is_where_the_words_stand() -> None:
    text = "Groceries today.\n- [ ] Note: Anne lives in Lisbon now, and Bob is away."
    places = {s.subject: text[slice(*s.span)] for s in statements(text)}
    assert places["anne"] == "Anne lives in Lisbon now"


def test_values_compare_as_people_mean_them() -> None:
    assert fold(" The  “Main Branch”. ") == "main branch"
    assert fold("“The main branch”") == "main branch"
    assert fold("May 3rd, 1990") == "m05 d03, 1990"
    assert fold("2026-05-03") == "2026 m05 d03"
    assert fold("十二月二十一日") == "m12 d21"
    assert differ("lisbon", "porto")
    assert not differ("lisbon", "lisbon, portugal")
    assert not differ("里斯本", "lisbon")
    assert opposite("dark mode", "light mode") == "mode"
    assert opposite("深色模式", "浅色模式") == "模式"
    assert opposite("dark mode", "dark mode") is None


SHORT = st.text(max_size=80)
ANY = SHORT | st.lists(
    st.sampled_from([*"的是我不喜欢：", "I ", "prefer ", "is ", "not ", "Anne's ", "birthday ", "3 May", ", ", "over ", "\n"]),
    max_size=30,
).map("".join)  # fmt: skip


@given(ANY, ANY)
def test_any_text_is_read(one: str, other: str) -> None:
    for statement in statements(one):
        start, end = statement.span
        assert 0 <= start < end <= len(one)
        assert statement.value
        assert isinstance(statement, Statement)
    assert contradiction(one, other) is None or contradiction(other, one) is not None


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "的",
        "is ",
        "I like and ",
        "我不喜欢",
        "(",
        "\n",
        "a:",
        "x's ",
        "- ",
        "一",
        "1",
        "really ",
        "，",
        "moved to A ",
        "A of ",
        "搬到",
    ],
)
def test_hostile_text_is_read_at_once(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    found = statements(text)
    assert takes_less(1.0, lambda: statements(text))
    assert all(statement.span[1] <= CAP for statement in found)


@pytest.mark.parametrize(
    "moved",
    [
        "The user moved to Linux", "We moved to VS Code", "The user moved to a new flat", "The user moved to Porto in 2012",
        "The user moved to Madrid three years ago", "The user never moved to Madrid", "The meeting moved to Monday",
        "The user moved to Marketing", "The user moved to Lisbon", "The user wants to be moved to Madrid",
        "The user moved to Netflix", "The user moved to Amazon", "The user moved to Tesla last week", "The user moved to Scrum",
        "The user moved to Anthropic from Google", "The user moved to Catholicism", "The user moved to Claude",
        "The user moved to Jenkins", "The user moved to Keycloak", "The user moved to LibreOffice",
        "The user moved to Revolut", "The user moved to Hetzner from AWS", "The user moved to Coca-Cola",
        "The user moved to Jellyfin because Plex got worse", "The user moved to London when they were six",
        "The user moved to Ireland when they were 4", "The user moved to Berlin for a year",
        "The user moved to Berlin with a friend for the summer", "The user moved to Berlin for two months",
        "The user moved to Berlin from Paris after college", "When the user was six, the user moved to London",
        "The user moved to London, as a small child", "The user moved to Acme from Google", "We moved to TikTok",
        "用户搬到北京住了一年", "用户搬到新房子了", "用户没搬到北京", "用户搬到腾讯云", "用户打算搬到北京", "用户以前搬到过北京",
    ],
)  # fmt: skip
def test_not_every_move_is_one_of_the_home(moved: str) -> None:
    for home in (
        "The user lives in Lisbon",
        "We live in Lisbon",
        "The meeting lives in Lisbon",
        "用户住在上海",
    ):
        assert contradiction(home, moved) is None
