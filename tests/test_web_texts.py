"""What a page shows: texts, differences, languages, what comes late; and the plugin of Obsidian."""

import ast
import asyncio
import json
import re
import shutil
import subprocess
import tomllib
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import htpy as h
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vaultmem_web
from tests.agent_run import until
from tests.cli_run import on, ran, tree_hash
from tests.effort import takes_less
from tests.http_run import Door
from tests.web_run import Browser, _quoted, door, me
from vaultmem.agent.jobs import JOBS
from vaultmem.errors import VaultmemError
from vaultmem.memories.reports import diff_of
from vaultmem.recall import recall_candidate
from vaultmem.text.times import WEEKDAYS
from vaultmem_web import sessions, views
from vaultmem_web.data import Reader, Visit
from vaultmem_web.texts import _UNITS, Translator, prose, rule_text

__all__ = ["door", "me"]  # fixtures

CODE = Path(vaultmem_web.__file__).parent
EVIL = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "![x](http://evil.example/x.png)",
    "<svg onload=alert(1)>", "[b](data:text/html;base64,PHNjcmlwdD4=)", "\u202eevil", "[[\"><script>alert(2)</script>]]",
    "<a href='vbscript:x'>", "[c](//evil.example/ui/leave)", "[[../../etc/passwd]]", "<style>*{display:none}</style>",
]  # fmt: skip


def test_texts_of_notes_and_memories_come_as_text(me: Browser) -> None:
    evils = "\n\n".join(EVIL)
    note = me.door.folder / "home" / "Odd.md"
    note.write_text(f"---\nx: {EVIL[0]}\n---\n{evils}\n\nis odd text of a note", "utf-8")
    made = [
        me.door.ask("write", "me", content=f"{evil} is odd text number {at}").data["id"]
        for at, evil in enumerate(EVIL)
    ]
    until(lambda: me.send("GET", "/ui/note?path=Odd").status == 200)
    assert "is odd text of a note" in me.get("/ui/note?path=Odd")
    pages = ["memories", "search?q=odd+text", "tell?q=odd+text", "note?path=Odd"]
    for path in [*pages, *(f"memory?id={id_}" for id_ in made)]:
        text = me.get(f"/ui/{path}")
        tags = r"<(script(?! type=\"module\" src=\"/ui/)|img|iframe|object|style|form[^>]+evil)"
        assert not re.search(tags, text), path
        assert not re.search(r"href=\"(javascript|data|vbscript)", text), path
        assert not re.search(r"<[^>]+\son\w+=", text), path
        shown = re.sub(r"<textarea.*?</textarea>|<[^>]+>", "", text, flags=re.DOTALL)
        assert "\u202e" not in shown, path
    for path in ("../../../etc/passwd", "/etc/passwd", "<script>", "\0", "a" * 3_000):
        answer = me.send("GET", f"/ui/note?path={_quoted(path)}")
        assert answer.status in (200, 400, 404, 422)
        assert b"root:" not in answer.body
        assert b"<script>" not in answer.body


def test_private_notes_stay_private_on_their_way(me: Browser) -> None:
    """The page is the person's own, so it shows them; an assistant's view of it does not have them, and no token does."""
    assert "5150" not in me.get("/ui/tell?q=PIN+of+the+boiler&as=claude")
    assert "5150" in me.get("/ui/note?path=Secret")
    for token in ("me", "claude", "reader"):
        answer = me.door.ask("note", token, path="Secret.md")
        assert answer.status == 404
        assert b"5150" not in answer.body


def test_a_note_of_any_name_has_a_page(door: Door, me: Browser) -> None:
    names = ["two\nlines", "a#b?c=1&d", "100%", '"quoted"', "مرحبا"]
    for name, by in zip(names, "bosun mate cook pilot cadet".split(), strict=True):
        text = f"The jib is furled, and for once by the {by}.\n"
        (door.folder / "home" / f"{name}.md").write_text(text, "utf-8")
    until(lambda: door.ask("search", query="furled").data["count"] == len(names))
    page = me.get("/ui/search?q=furled")
    links = {unescape(link) for link in re.findall(r'href="(/ui/note[^"]+)"', page)}
    assert len(links) == len(names)
    assert all("The jib is furled" in me.get(link) for link in links)


def test_a_note_is_read_up_to_a_size_and_its_links_lead_on(me: Browser) -> None:
    home = me.door.folder / "home"
    (home / "Deep").mkdir()
    (home / "Deep" / "plan.pdf").write_bytes(b"%PDF")
    (home / "Deep" / "Pump.md").write_text(
        "# Pump\n\nSee [[Valve]].\nAnd [it](../Boiler.md), [[Nowhere]], ![[gone.png|120]], [[plan.pdf|the plan]]."
    )
    text = "---\naliases: [tap]\n---\n" + "The valve sticks. " * 6_000 + "THE END"
    (home / "Valve.md").write_text(text)
    until(lambda: b"valve sticks" in me.send("GET", "/ui/note?path=Valve").body)
    text = me.get("/ui/note?path=Pump")
    assert (text.count("Pump</h1>"), text.count("Pump</h2>")) == (1, 0)
    assert 'href="obsidian://open?vault=' in text
    assert ('See <a href="/ui/note?path=Valve.md" rel="noopener noreferrer">Valve</a>.<br>\n'
            'And <a href="/ui/note?path=Boiler.md" rel="noopener noreferrer">it</a>') in text  # fmt: skip
    assert "it, Nowhere, gone.png, the plan." in re.sub("<[^>]+>", "", text)
    assert not re.search('path=(Nowhere|gone|[^"]*plan)', text)
    listed = text.partition("Links to</h2>")[2].partition("</ul>")[0]
    targets = re.findall(r"<li>(?:<a[^>]*>)?([^<]+)", listed)
    assert targets == ["Boiler.md", "Deep/plan.pdf", "Valve.md"]
    long = me.get("/ui/note?path=Valve")
    assert "It is longer" in long
    assert "THE END" not in long
    assert "aliases: [tap]" in long
    assert '<details id="text">' in me.get("/ui/note?path=Pump&beside=1")


@given(
    st.text(max_size=100)
    | st.lists(st.sampled_from([*EVIL, "**", "`", "[", "](", "\n", "<", "|", "a"]), max_size=9).map("".join)
)  # fmt: skip
def test_no_text_becomes_more_than_prose(text: str) -> None:
    active = "script style img svg iframe form input object embed base".split()
    schemes = ("http:", "https:", "mailto:", "obsidian:", "logseq:", "/", "#", "?")
    for tag, rest in re.findall(r"<([a-zA-Z]+)([^>]*)>", prose(text).__html__()):
        assert tag.lower() not in active
        assert not re.search(r"\son\w+\s*=|style\s*=", rest)
        for target in re.findall(r'href="([^"]*)"', rest):
            assert target.startswith(schemes) or ":" not in target


@given(st.text(alphabet="ab <&\n", max_size=40), st.text(alphabet="ab <&\n", max_size=40))
def test_a_difference_shows_every_word_of_both(old: str, new: str) -> None:
    text = diff_of("a", "a", old.encode(), new.encode())
    shown = str(views.difference(text, Translator("en")))
    for sign, other in (("-", "ins"), ("+", "del")):
        side = re.sub(rf"<{other}>.*?</{other}>|<[^>]*>", "", shown, flags=re.DOTALL)
        for line in text.splitlines()[2:]:
            if line.startswith(sign):
                assert all(word in side for word in re.findall(r"[ab]+", line))


def test_a_difference_of_many_like_words_holds_nobody_up() -> None:
    """Who compares each of them with each needs hours for what one memory can hold."""
    before, after = "a " * 6_000, f"b {'a ' * 6_000}"
    text = diff_of("a", "a", before.encode(), after.encode())
    assert takes_less(5, lambda: views.difference(text, Translator("en")).__html__())
    assert "<ins>b a" in str(views.difference(text, Translator("en")))


def test_what_takes_a_while_comes_behind_the_rest() -> None:
    """A browser shows what it has, with or without a script."""

    async def pieces() -> tuple[str, str]:
        answer: asyncio.Future[views.h.Node] = asyncio.Future()
        page = views.Page(
            "Health", [views.h.p["at hand <b>"], views.later(answer), views.h.p["end"]]
        )
        reader = cast("Reader", SimpleNamespace(vault="home"))
        visit = Visit(reader, {}, Translator("en"), "x", "/", is_part=False)
        html = views.document(page, visit, None)
        first = await anext(html)
        answer.set_exception(VaultmemError("doctor is <out>"))
        return first, "".join([piece async for piece in html])

    first, rest = asyncio.run(pieces())
    assert first.startswith("<!doctype html>")
    assert "at hand &lt;b&gt;" in first
    assert "doctor is &lt;out&gt;" in rest
    assert rest.index("doctor") < rest.index("end")


def test_every_text_of_the_page_is_there_in_every_language() -> None:
    texts, names = set[str](), set[str]()
    for path in CODE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
                texts |= {node.args[0].value} if called == "t" else set()
    texts |= {*recall_candidate._GUARDS, *recall_candidate._FILTERS, "replaced", "of little relevance"}  # fmt: skip
    texts |= {job.meaning for job in JOBS.values()} | set(WEEKDAYS)
    texts |= {text for pair in _UNITS.values() for text in pair}
    table = tomllib.loads((CODE / "zh.toml").read_text("utf-8"))
    assert texts <= table.keys(), texts - table.keys()
    assert table.keys() <= names | texts, table.keys() - names - texts
    for english, chinese in table.items():
        assert sorted(re.findall(r"{\w+}", english)) == sorted(re.findall(r"{\w+}", chinese))


def test_what_vaultmem_itself_says_is_in_the_language_of_the_page(me: Browser) -> None:
    body = f"csrf={_quoted(me.csrf())}&back=%2Fui%2Freview".encode()
    me.send("POST", "/ui/act/tag", body)
    zh = {"Accept_Language": "zh-CN,zh;q=0.9"}
    for path, text in (
        ("review", "请先选择或输入"), ("nowhere", "没有这个页面"), ("health", "把整个库与索引比较"),
    ):  # fmt: skip
        assert text in me.send("GET", f"/ui/{path}", **zh).body.decode(), path


@pytest.mark.parametrize(
    ("words", "chinese"),
    [
        ("every day", "每天"),
        ("every 2 weeks on Monday, Thursday", "每 2 周: 周一 周四"),
        ("every month on the last Friday", "每月: 倒数第 1 个周五"),
        ("every January on the 15th", "每年: 1 月 15 日"),
        ("every 3 days for 10 times when done", "每 3 天, 共 10 次, 从完成时算起"),
        ("every week from 2027-01-04 until 2027-03-01", "每周, 从 2027-01-04 起, 到 2027-03-01 为止"),
        ("whenever it rains", "whenever it rains"),
    ],
)  # fmt: skip
def test_a_rule_is_in_the_language_of_the_page(words: str, chinese: str) -> None:
    assert rule_text(words, Translator("zh")) == chinese
    assert rule_text(words, Translator("en")) == words


def test_ui_prints_an_address_of_its_own_door(door: Door) -> None:
    answer = on(door.folder / "home", "ui", "--print-url", "--format", "json")
    address = json.loads(answer.out)["url"]
    assert address.startswith(f"http://{sessions.host_name()}:{door.port}/ui/enter#")
    assert Browser(door).enter(address.partition("#")[2]).status == 204


def test_the_plugin_is_put_in_and_taken_out_without_a_trace(vault: Path, tmp_path: Path) -> None:
    settings = vault / ".obsidian"
    words = ("connect", "obsidian", "--vault", str(vault))
    for action in ((), ("--remove",)):
        assert ran(*words, *action).code == 0
    assert not any(settings.iterdir())
    other = settings / "plugins" / "other" / "main.js"
    other.parent.mkdir(parents=True)
    other.write_text("1")
    (settings / "community-plugins.json").write_text('["other"]')
    before = tree_hash(vault, times=False)
    assert "main.js" in ran(*words, "--dry-run").out
    assert tree_hash(vault, times=False) == before
    assert ran(*words).code == 0
    folder = settings / "plugins" / "vaultmem"
    assert "127.0.0.1" in (folder / "main.js").read_text()
    if node := shutil.which("node"):
        subprocess.run([node, "--check", folder / "main.js"], check=True)
    written = tree_hash(vault)
    assert "already installed" in ran(*words).err
    assert tree_hash(vault) == written
    assert ran(*words, "--remove").code == 0
    assert tree_hash(vault, times=False) == before
    folder.mkdir()  # one of somebody else is left alone
    (folder / "manifest.json").write_text('{"author": "somebody"}')
    assert "another plugin" in ran(*words).err
    assert "not installed" in ran(*words, "--remove").err
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)
    assert "leads out of the vault" in ran(*words).err
    assert not list(tmp_path.glob("*.js"))


def test_another_vaults_plugin_is_shown_no_note(door: Door, me: Browser, tmp_path: Path) -> None:
    home, link = door.folder / "home", tmp_path / "linked"
    link.symlink_to(home)
    for folder in (home, link):
        assert "Mr Ansah" in me.get(f"/ui/note?beside=1&vault={folder}&path=Boiler.md")
    for other in (door.folder / "work", "/gone", "%00"):
        shown = me.get(f"/ui/note?beside=1&vault={other}&path=Boiler.md")
        assert f"this page shows the vault {home}" in shown
        assert "Mr Ansah" not in shown


MATCHES = {
    ("damp in the houses", "I think the damp house is leaning in"): ["damp", "house"],
    ("in", "I think it is in"): ["in"], ("准考证在哪里", "打印准考证。"): ["准考证"],
    ("fast (slow", "a faster way, FAST"): ["faster", "FAST"], ("", "nothing"): [],
}  # fmt: skip


@pytest.mark.parametrize(("asked", "marked"), MATCHES.items())
def test_whole_words_of_a_query_are_marked(asked: tuple[str, str], marked: list[str]) -> None:
    shown = str(h.p[views.with_matches(asked[1], asked[0])])
    assert re.findall("<mark>(.*?)</mark>", shown) == marked


@given(st.text(), st.text())
def test_marks_change_no_text(query: str, text: str) -> None:
    shown = str(h.p[views.with_matches(text, query)])
    assert shown.replace("<mark>", "").replace("</mark>", "") == str(h.p[text])
