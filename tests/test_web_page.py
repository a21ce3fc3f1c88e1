"""The page without a browser: who is let in, what a form may do, and that what stands in notes stays data."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vaultmem_web
from tests import http_run
from tests.cli_run import ran, tree_hash
from tests.http_run import Answer, Door
from vaultmem import Vault
from vaultmem.errors import NoteChangedError, VaultmemError
from vaultmem.memories.reports import diff_of
from vaultmem_web import app, sessions, views
from vaultmem_web.texts import Translator, prose

CODE = Path(vaultmem_web.__file__).parent
EVIL = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "![x](http://evil.example/x.png)",
    "<svg onload=alert(1)>", "[b](data:text/html;base64,PHNjcmlwdD4=)", "\u202eevil", "[[\"><script>alert(2)</script>]]",
    "<a href='vbscript:x'>", "[c](//evil.example/ui/leave)", "[[../../etc/passwd]]", "<style>*{display:none}</style>",
]  # fmt: skip


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with http_run.opened(tmp_path_factory.mktemp("page")) as one:
        yield one


class Browser:
    """One that keeps a cookie, and sends what a page of ours would send."""

    def __init__(self, door: Door, host: str = "") -> None:
        self.door, self.cookie = door, ""
        self.host = f"{host or sessions.host_name()}:{door.port}"

    def enter(self, secret: str, **headers: str) -> Answer:
        own = {"X_Vaultmem": "1", "Origin": f"http://{self.host}", **headers}
        answer = self.send("POST", "/ui/enter", secret.encode(), **own)
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0] or self.cookie
        return answer

    def get(self, path: str) -> str:
        answer = self.send("GET", path)
        assert answer.status == 200, (answer.status, answer.body[:300])
        return answer.body.decode()

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        own = {"Host": self.host, **({"Cookie": self.cookie} if self.cookie else {}), **headers}
        return self.door.send(method, path, body, **own)

    def act(self, name: str, **fields: str) -> Answer:
        """Press a button: the form has the mark of the session."""
        own = {"csrf": self.csrf(), "back": "/ui/memories", **fields}
        body = "&".join(f"{key}={_quoted(value)}" for key, value in own.items()).encode()
        return self.send("POST", f"/ui/act/{name}", body)

    def csrf(self) -> str:
        return re.findall(r'name="csrf" value="([^"]+)"', self.get("/ui/review"))[0]

    def notice(self) -> str:
        """What the last action said."""
        text = self.get("/ui/review")
        return text[text.index('id="notice"') : text.index('id="content"')]


def _quoted(text: str) -> str:
    return quote(text, safe="")


@pytest.fixture
def me(door: Door) -> Browser:
    one = Browser(door)
    assert one.enter(sessions.make_link(str(door.folder / "home"))).status == 204
    return one


# --- who is let in


def test_a_link_lets_one_browser_in_once(door: Door) -> None:
    secret = sessions.make_link(str(door.folder / "home"))
    first, second = Browser(door), Browser(door)
    assert first.enter(secret).status == 204
    assert second.enter(secret).status == 410
    assert "HttpOnly" in (
        answer := first.enter(sessions.make_link(str(door.folder / "home"))).headers["set-cookie"]
    )
    assert "SameSite=strict" in answer
    assert "Today" in first.get("/ui/")
    assert second.send("GET", "/ui/").status == 401


def test_reading_the_address_of_a_link_does_not_use_it_up(door: Door) -> None:
    secret = sessions.make_link(str(door.folder / "home"))
    for _ in range(3):  # a preview in a mail program
        assert Browser(door).send("GET", "/ui/enter").status == 200
    assert Browser(door).enter(secret).status == 204


def test_a_link_is_over_after_a_while(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LINK_SECONDS", -1.0)
    assert Browser(door).enter(sessions.make_link(str(door.folder / "home"))).status == 410


@pytest.mark.parametrize("secret", ["", "x", "../../etc/passwd", "\0", "a" * 5_000, "💥"])
def test_what_is_no_link_lets_nobody_in(door: Door, secret: str) -> None:
    assert Browser(door).enter(secret).status in (410, 400)


def test_a_session_is_for_its_host_and_port_alone(door: Door, me: Browser) -> None:
    """Cookies know no ports, and a browser sends them to every server of a name."""
    other = Browser(door, "127.0.0.1")
    other.cookie = me.cookie
    assert other.send("GET", "/ui/").status == 401
    stranger = Browser(door, "evil.example")
    stranger.cookie = me.cookie
    assert stranger.send("GET", "/ui/").status == 403, "DNS rebinding"


def test_without_a_session_there_is_only_the_entrance(door: Door) -> None:
    stranger = Browser(door)
    for path in [
        *app.PAGES,
        "/events",
        "/act/delete",
        "/nothing",
        "/%2e%2e/api/v1/list",
        "/../metrics",
    ]:
        assert stranger.send("GET", f"/ui{path}").status in (401, 404), path
    assert stranger.send("POST", "/ui/act/delete", b"id=x").status == 401
    for name in ("../app.py", "..%2fapp.py", "zh.toml", "page.css/..", ".."):
        assert stranger.send("GET", f"/ui/static/{name}").status in (401, 404), name
    assert stranger.send("GET", "/ui/static/page.js").status == 200


def test_a_token_of_a_program_opens_no_page(door: Door) -> None:
    assert door.send("GET", "/ui/", None, "me", Host=Browser(door).host).status == 401


def test_a_closed_session_is_closed(me: Browser) -> None:
    me.send("POST", "/ui/leave", f"csrf={me.csrf()}".encode())
    assert me.send("GET", "/ui/").status == 401


# --- what a form may do


def test_a_form_of_another_page_does_nothing(me: Browser) -> None:
    made = me.door.ask("write", content="The cellar key hangs behind the clock.").data
    for csrf in ("", "x", "é"):
        body = f"csrf={_quoted(csrf)}&id={made['id']}".encode()
        assert me.send("POST", "/ui/act/delete", body).status == 403
    foreign = {"Origin": "http://evil.example"}
    assert (
        me.send(
            "POST", "/ui/act/delete", f"csrf={me.csrf()}&id={made['id']}".encode(), **foreign
        ).status
        == 403
    )
    assert me.door.ask("read", id=made["id"]).status == 200
    assert (
        Browser(me.door).enter(sessions.make_link("x"), Origin="http://evil.example").status == 403
    )
    assert Browser(me.door).enter(sessions.make_link("x"), X_Vaultmem="").status == 403


@pytest.mark.parametrize(
    "back",
    [
        "http://evil.example/",
        "//evil.example/ui/",
        "/api",
        "javascript:alert(1)",
        "\\\\evil",
        "/ui/\r\nX: y",
    ],
)
def test_no_form_leads_elsewhere(me: Browser, back: str) -> None:
    answer = me.act("sync", back=back)
    assert answer.status == 303
    assert answer.headers["location"].startswith("/ui/")
    assert "x" not in answer.headers


def test_every_answer_says_what_a_browser_may_load(me: Browser) -> None:
    for path in ("/ui/", "/ui/memories", "/ui/static/page.js", "/ui/nothing"):
        headers = me.send("GET", path).headers
        assert "unsafe" not in headers["content-security-policy"]
        for rule in (
            "default-src 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ):
            assert rule in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"\son\w+=|style=|https?://", me.get("/ui/review")), (
        "nothing inline, nothing from elsewhere"
    )


# --- what buttons do


def test_an_action_tells_how_to_take_it_back(me: Browser) -> None:
    ids = [
        me.door.ask("write", content=f"The lamp in room {n} is broken.").data["id"]
        for n in ("one", "two", "three")
    ]
    me.act("delete", id="\n".join(ids))
    commits = re.findall(r'name="commits" value="([^"]+)"', me.notice())[0]
    assert len(commits.split()) == 3
    assert all(me.door.ask("read", id=id_).status == 404 for id_ in ids)
    me.act("undo", commits=commits)
    assert all(me.door.ask("read", id=id_).status == 200 for id_ in ids)


def test_a_memory_goes_with_all_that_was_derived_from_it(me: Browser) -> None:
    made = [me.door.ask("write", content="The sextant came from aunt Greta.").data]
    for text in ("Greta once sailed the sound alone.", "A spare compass lies behind the stove."):
        made.append(me.door.ask("write", content=text, source=made[-1]["path"]).data)
    ids = [one["id"] for one in made]
    page = me.get(f"/ui/memory?id={ids[0]}")
    assert "derived from it: 2" in page
    assert "derived" not in me.get(f"/ui/memory?id={ids[2]}")
    sent = re.findall(r'name="id" value="([^"]+)"', page)
    together = next(one.split("\n") for one in sent if "\n" in one)
    assert together == ids
    me.act("delete", id="\n".join(together))
    assert all(me.door.ask("read", id=id_).status == 404 for id_ in ids)
    me.act("undo", commits=re.findall(r'name="commits" value="([^"]+)"', me.notice())[0])
    assert all(me.door.ask("read", id=id_).status == 200 for id_ in ids)


def test_who_types_is_sent_results_alone(me: Browser) -> None:
    """Facets are counted once, when the page is opened."""
    me.door.ask("write", content="The anchor is in the locker.")
    for path, form, results in (
        ("/ui/search?q=anchor", "search", "results"),
        ("/ui/tell?q=anchor", "tell", "told"),
        ("/ui/memories?words=anchor", "narrow", "list"),
    ):
        whole = me.get(path)
        part = me.send("GET", path, X_Vaultmem="part").body.decode()
        assert f'id="{form}"' in whole
        assert f'id="{form}"' not in part
        assert all(f'id="{results}"' in text and "locker" in text for text in (whole, part))


def test_two_who_edit_one_memory_lose_no_word(me: Browser) -> None:
    made = me.door.ask("write", content="The ferry leaves at nine.").data
    seen = made["content_hash"]
    me.act("edit", id=made["id"], seen=seen, content="The ferry leaves at ten.")
    me.act("edit", id=made["id"], seen=seen, content="The ferry leaves at noon, says Priya.")
    notice = me.notice()
    assert "changed meanwhile" in notice
    assert "The ferry leaves at noon, says Priya." in notice, (
        "what was typed is shown, to be copied"
    )
    assert me.door.ask("read", id=made["id"]).data["content"] == "The ferry leaves at ten."


def test_an_edit_counts_only_on_the_text_that_was_seen(vault: Path) -> None:
    """The same from Python, where a wrong hash is an error."""
    with Vault(vault) as mine:
        made = mine.write("The gate code is with Femi.")
        changed = mine.edit(made["id"], "The gate code is with Anne.", seen=made["content_hash"])
        assert changed["changed"]
        with pytest.raises(NoteChangedError):
            mine.edit(made["id"], "Nobody has it.", seen=made["content_hash"])
        assert mine.read(made["id"])["content"] == "The gate code is with Anne."
        assert not mine.edit(made["id"], "The gate code is with Anne.")["changed"]
        mine.undo(last=True)
        assert mine.read(made["id"])["content"] == "The gate code is with Femi."


def test_looking_does_not_count_as_reading(me: Browser) -> None:
    made = me.door.ask("write", content="The spare fuse is in the blue tin.").data
    for _ in range(3):
        assert "blue tin" in me.get(f"/ui/memory?id={made['id']}")
        me.get("/ui/tell?q=spare+fuse&as=claude")
    row = next(one for one in me.door.ask("list").data["memories"] if one["id"] == made["id"])
    assert row["access_count"] == 0


def test_what_would_be_told_is_what_is_told(me: Browser) -> None:
    me.door.ask("write", "claude", content="The pump is serviced by Ines Marquez.")
    text = me.get("/ui/tell?q=who+services+the+pump&as=codex")
    shown = re.findall(r"<pre[^>]*>(.*?)</pre>", text, re.DOTALL)[0]
    call = http_run.request(
        "tools/call", 2, name="memory_recall", arguments={"query": "who services the pump"}
    )
    answer = me.door.mcp(call, "codex", me.door.session("codex")).data
    told = answer["result"]["content"][0]["text"]
    assert "Ines Marquez" in shown
    for line in told.splitlines():
        if line.startswith("["):
            assert line.replace("&", "&amp;").replace("<", "&lt;") in shown


def test_a_rule_holds_until_it_is_taken_back(me: Browser) -> None:
    me.act("rule", kind="mention", says="never")
    assert "mention" in me.notice()
    assert 'name="says" value="ask"' in me.get("/ui/review")
    me.act("rule", kind="mention", says="ask")
    assert "Your rules" not in me.get("/ui/review")
    me.act("rule", kind="everything", says="always")
    assert "problem" in me.notice()


def test_a_remedy_is_one_of_those_that_are_safe(me: Browser) -> None:
    me.act("remedy", command="vaultmem sync")
    assert "problem" not in me.notice()
    for command in (
        "vaultmem init /tmp",
        "rm -r x",
        "vaultmem sync --confirm-removals",
        "vaultmem jobs run ../x",
    ):
        me.act("remedy", command=command)
        assert "problem" in me.notice(), command


# --- what stands in notes is data


def test_texts_of_memories_come_as_text(me: Browser) -> None:
    for at, evil in enumerate(EVIL):
        made = me.door.ask("write", "me", content=f"{evil} is odd text number {at}").data
        for path in (
            f"/ui/memory?id={made['id']}",
            "/ui/memories",
            "/ui/search?q=odd+text",
            "/ui/tell?q=odd+text",
        ):
            text = me.get(path)
            assert not re.search(
                r"<(script(?! type=\"module\" src=\"/ui/)|img|iframe|object|style|form[^>]+evil)",
                text,
            ), path
            assert not re.search(r"href=\"(javascript|data|vbscript)", text), path
            assert not re.search(r"<[^>]+\son\w+=", text), path
    for path in ("../../../etc/passwd", "/etc/passwd", "<script>", "\0", "a" * 3_000):
        answer = me.send("GET", f"/ui/note?path={_quoted(path)}")
        assert answer.status in (200, 400, 404, 422)
        assert b"root:" not in answer.body
        assert b"<script>" not in answer.body


def test_private_notes_stay_private_on_their_way(me: Browser) -> None:
    """The page is the person's own, so it may show them; an assistant's view of it does not have them."""
    assert "5150" not in me.get("/ui/tell?q=PIN+of+the+boiler&as=claude")


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from([*EVIL, "**", "`", "[", "](", "\n", "<", "|", "a"])).map("".join)
)
def test_no_text_becomes_more_than_prose(text: str) -> None:
    made = prose(text).__html__()
    for tag, rest in re.findall(r"<([a-zA-Z]+)([^>]*)>", made):
        assert tag.lower() not in (
            "script",
            "style",
            "img",
            "svg",
            "iframe",
            "form",
            "input",
            "object",
            "embed",
            "base",
        )
        assert not re.search(r"\son\w+\s*=|style\s*=", rest)
        for target in re.findall(r'href="([^"]*)"', rest):
            assert (
                target.startswith(
                    ("http:", "https:", "mailto:", "obsidian:", "logseq:", "/", "#", "?")
                )
                or ":" not in target
            )


@given(st.text(alphabet="ab <&\n", max_size=40), st.text(alphabet="ab <&\n", max_size=40))
def test_a_difference_shows_every_word_of_both(old: str, new: str) -> None:
    text = diff_of("a", "a", old.encode(), new.encode())
    shown = str(views.difference(text, Translator("en")))
    before = re.sub(r"<ins>.*?</ins>", "", shown, flags=re.DOTALL)
    after = re.sub(r"<del>.*?</del>", "", shown, flags=re.DOTALL)
    changed = [line for line in text.splitlines()[2:] if line[:1] in "+-"]
    for side, sign in ((before, "-"), (after, "+")):
        for line in changed:
            if line.startswith(sign):
                for word in re.findall(r"[ab]+", line):
                    assert word in re.sub(r"<[^>]*>", "", side)


def test_what_takes_a_while_comes_behind_the_rest() -> None:
    """A browser shows what it has, with or without a script."""

    async def pieces() -> tuple[str, str]:
        answer: asyncio.Future[views.h.Node] = asyncio.Future()
        page = views.Page(
            "Health", [views.h.p["at hand <b>"], views.later(answer), views.h.p["end"]]
        )
        html = views.document(page, views.Frame("/", "x", "home", None), Translator("en"))
        first = await anext(html)
        answer.set_exception(VaultmemError("doctor is <out>"))
        return first, "".join([piece async for piece in html])

    first, rest = asyncio.run(pieces())
    assert first.startswith("<!doctype html>")
    assert "at hand &lt;b&gt;" in first
    assert "doctor is &lt;out&gt;" in rest
    assert rest.index("doctor") < rest.index("end")


# --- words


def test_every_text_of_the_page_is_there_in_every_language() -> None:
    texts, names = set[str](), set[str]()
    for path in CODE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
            if not (
                isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
            ):
                continue
            called = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            if called == "t":
                texts.add(node.args[0].value)
    table = tomllib.loads((CODE / "zh.toml").read_text("utf-8"))
    assert texts <= table.keys(), texts - table.keys()
    assert table.keys() <= names, table.keys() - names
    for english, chinese in table.items():
        assert sorted(re.findall(r"{\w+}", english)) == sorted(re.findall(r"{\w+}", chinese))


# --- what changes


def test_ui_prints_an_address_of_its_own_door(door: Door) -> None:
    answer = ran("ui", "--print-url", "--vault", str(door.folder / "home"), "--format", "json")
    address = json.loads(answer.out)["url"]
    assert address.startswith(f"http://{sessions.host_name()}:{door.port}/ui/enter#")
    assert Browser(door).enter(address.partition("#")[2]).status == 204


# --- inside Obsidian


def test_the_plugin_is_put_in_and_taken_out_without_another_byte(vault: Path) -> None:
    settings = vault / ".obsidian"
    other = settings / "plugins" / "other" / "main.js"
    other.parent.mkdir(parents=True)
    other.write_text("1")
    (settings / "community-plugins.json").write_text('["other"]')
    before = tree_hash(vault, times=False)
    words = ("connect", "obsidian", "--vault", str(vault))
    assert "main.js" in ran(*words, "--dry-run").out
    assert tree_hash(vault, times=False) == before
    assert ran(*words).code == 0
    script = settings / "plugins" / "vaultmem" / "main.js"
    assert "127.0.0.1" in script.read_text()
    if node := shutil.which("node"):
        subprocess.run([node, "--check", script], check=True)
    written = tree_hash(vault)
    assert ran(*words).out == ""
    assert tree_hash(vault) == written
    assert ran(*words, "--remove").code == 0
    assert tree_hash(vault, times=False) == before


def test_a_plugin_of_somebody_else_is_left_alone(vault: Path, tmp_path: Path) -> None:
    folder = vault / ".obsidian" / "plugins" / "vaultmem"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"author": "somebody"}')
    words = ("connect", "obsidian", "--vault", str(vault))
    assert "somebody else" in ran(*words).err
    assert ran(*words, "--remove").out == ""
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)
    assert "leads out of the vault" in ran(*words).err
    assert not list(tmp_path.glob("*.js"))
