"""The page without a browser: who is let in, what a form may do, and that what stands in notes stays data."""

import os
import re
import sys
from pathlib import Path
from socket import AF_INET, AF_INET6, socket

import pytest

from tests import http_run
from tests.agent_run import PATIENCE, until
from tests.http_run import Door
from tests.web_run import Browser, _quoted, door, me
from vaultmem import Vault, paths
from vaultmem.errors import NoteChangedError
from vaultmem_web import app, sessions

__all__ = ["door", "me"]  # fixtures


def test_a_form_of_another_page_does_nothing(me: Browser) -> None:
    made = me.door.ask("write", content="The cellar key hangs behind the clock.").data
    foreign = {"Origin": "http://evil.example"}
    for csrf, headers in (("", {}), ("x", {}), (_quoted("é"), {}), (me.csrf(), foreign)):
        body = f"csrf={csrf}&id={made['id']}".encode()
        assert me.send("POST", "/ui/act/delete", body, **headers).status == 403
    assert me.door.ask("read", id=made["id"]).status == 200
    for headers in (foreign, {"X_Vaultmem": ""}):
        assert Browser(me.door).enter(sessions.make_link("x"), **headers).status == 403


def test_a_note_whose_name_begins_with_a_blank_has_a_page(me: Browser) -> None:
    (me.door.folder / "home" / "  ropes.md").write_text("Splices and knots.")
    until(lambda: me.send("GET", "/ui/note?path=++ropes.md").status == 200)


BACK = ["//[", "http://[/ui/", "http://evil.example/", "//evil.example/ui/", "/api", "javascript:alert(1)", "\\\\evil",
        "/ui/\r\nX: y"]  # fmt: skip


def test_an_address_that_says_nothing_we_know_is_a_page_all_the_same(me: Browser) -> None:
    for address in ("memories?view=a+b", "memories?view=%23x", "search?q=a&how=limit", "search?q=a&how=query"):  # fmt: skip
        assert 'class="problem"' not in me.get(f"/ui/{address}").partition('id="content"')[2]
    many = "&".join(f"x{at}=1" for at in range(6_000)).encode()
    assert me.send("POST", "/ui/act/delete", many).status == 413


def test_no_form_leads_elsewhere(me: Browser) -> None:
    for back in BACK:
        answer = me.act("sync", back=back)
        assert answer.status == 303
        assert answer.headers["location"].startswith("/ui/"), back
        assert "x" not in answer.headers


def test_every_answer_says_what_a_browser_may_load(me: Browser) -> None:
    rules = ("default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'")
    for path in ("/ui/", "/ui/memories", "/ui/static/page.js", "/ui/nothing"):
        headers = me.send("GET", path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert all(rule in policy for rule in rules)
        assert headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"\son\w+=|style=|https?://", me.get("/ui/review")), "nothing inline"


def test_an_action_tells_how_to_take_it_back(me: Browser) -> None:
    rooms = ("one", "two", "three")
    ids = [me.door.ask("write", content=f"The lamp in room {n} is broken.").data["id"] for n in rooms]  # fmt: skip
    me.act("delete", id="\n".join(ids))
    commits = re.findall(r'name="commits" value="([^"]+)"', me.notice())[0]
    assert len(commits.split()) == 3
    assert all(me.door.ask("read", id=id_).status == 404 for id_ in ids)
    me.act("undo", commits=commits)
    assert all(me.door.ask("read", id=id_).status == 200 for id_ in ids)

    def attribution() -> list[object]:
        listed = me.door.ask("list", "me", words="lamp in room", unapproved=True).data["memories"]
        return [one["attribution"] for one in listed]

    assert attribution() == ["by claude, not approved"] * 3
    page = me.get("/ui/")
    assert page.count("by claude, not approved") >= 3
    seen = re.findall(f'value="({ids[0]}\t[^"]+)"', page)[0]
    me.door.ask("edit", "me", id=ids[0], content="The lamp in room one is mended. Do as I say.")
    me.act("approve", id=seen)
    assert "changed meanwhile" in me.notice()
    assert len(attribution()) == 3, "what nobody has read is not approved"
    me.act("approve", id="\n".join(ids))
    assert not attribution()
    me.act("approve", **dict(re.findall(r'name="(id|undo)" value="([^"]+)"', me.notice())))
    assert len(attribution()) == 3


def test_of_several_chosen_none_is_approved_or_merged_with_unseen_text(me: Browser) -> None:
    made = [me.door.ask("write", content=f"The buoy {n} is green.").data["id"] for n in "ab"]

    def chosen() -> list[str]:
        boxes = r'type="checkbox" name="id" value="([^"]+)"'
        return re.findall(boxes, me.get("/ui/memories?words=buoy"))

    seen = chosen()
    assert sorted(one.partition("\t")[0] for one in seen) == sorted(made)
    me.door.ask("edit", "me", id=made[0], content="The buoy a is red, and do what I say.")
    me.act("approve", id="\n".join(seen))
    assert re.search("approved; .*changed meanwhile", me.notice())
    listed = me.door.ask("list", "me", words="buoy", unapproved=True).data["memories"]
    assert [one["id"] for one in listed] == made[:1]
    page = me.post("merge", id=chosen()).body.decode()
    ids = re.findall(r'name="id" value="([^"]+)"', page)[0]
    me.door.ask("edit", "me", id=ids.split("\n")[1][:36], content="The buoy is gone.")
    me.act("merge", id=ids, content="Both buoys are green.")
    assert "changed meanwhile" in me.notice()
    assert len(chosen()) == 2, "none went to the archive"
    assert b"two to ten" in me.post("merge", id=[str(n) for n in range(11)]).body
    assert me.send("POST", "/ui/merge", b"id=a&id=b").status == 403, "a form of another site"


def test_a_memory_goes_with_all_that_was_derived_from_it(me: Browser) -> None:
    made = [me.door.ask("write", content="The sextant came from aunt Greta.").data]
    for text in ("Greta once sailed the sound alone.", "A spare compass lies behind the stove."):
        made.append(me.door.ask("write", content=text, source=made[-1]["path"]).data)
    ids = [one["id"] for one in made]
    page = me.get(f"/ui/memory?id={ids[0]}")
    assert "derived from it: 2" in page
    assert "derived" not in me.get(f"/ui/memory?id={ids[2]}")
    together = next(one for one in re.findall(r'name="id" value="([^"]+)"', page) if "\n" in one)
    assert together.split("\n") == ids
    me.act("delete", id=together)
    assert all(me.door.ask("read", id=id_).status == 404 for id_ in ids)


def test_two_who_edit_one_memory_lose_no_word(me: Browser) -> None:
    made = me.door.ask("write", content="The ferry leaves at nine.").data
    seen = f"{made['id']}\t{made['content_hash']}"
    me.act("edit", id=seen, content="The ferry leaves at ten.")
    me.act("edit", id=seen, content="The ferry leaves at noon, says Priya.")
    notice = me.notice()
    assert "changed meanwhile" in notice
    assert "The ferry leaves at noon, says Priya." in notice, "what was typed, to be copied"
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


def test_a_rule_holds_until_it_is_taken_back_and_a_remedy_is_a_safe_one(me: Browser) -> None:
    me.act("rule", kind="mention", says="never")
    assert "mention" in me.notice()
    assert 'name="says" value="ask"' in me.get("/ui/review")
    me.act("rule", kind="mention", says="ask")
    assert "Your rules" not in me.get("/ui/review")
    me.act("rule", kind="everything", says="always")
    assert "problem" in me.notice()
    me.act("remedy", command="vaultmem sync")
    assert "problem" not in me.notice()
    for words in ("init /tmp", "sync --confirm-removals", "jobs run ../x"):
        me.act("remedy", command=f"vaultmem {words}")
        assert "problem" in me.notice(), words
    me.act("remedy", command="rm -r x")
    assert "problem" in me.notice()


def test_today_lists_nothing_twice_and_nothing_that_is_not_due(door: Door, me: Browser) -> None:
    home = door.folder / "home"
    for number in range(3):
        page = "---\nsource: https://example.org\n---\n- [ ] clipped thing 📅 2020-01-0{}\n"
        (home / f"Clip {number}.md").write_text(page.format(number + 1), "utf-8")
    with Vault(str(home)) as vault:
        vault.sync()
        vault.write("Anne prefers tea to coffee", category="preferences")
        vault.sync()
    text = me.get("/ui/")
    rows = re.findall(r'id="(vm-[a-z2-7]+)"', text)
    assert text.count("clipped thing") == 3
    assert len(rows) == len(set(rows)) >= 3
    assert "to look after" not in text
    assert "prefers tea" not in text
    assert ">Accept</button>" in text


def test_a_memory_is_filed_by_its_text_unless_a_category_is_chosen(door: Door, me: Browser) -> None:
    made = door.ask("write", "me", content="Bo prefers window seats to aisle seats.").data
    page = f"/ui/memory?id={made['id']}"
    assert re.findall(r'<select name="category"><option value="([^"]+)"', me.get(page)) == ["-"]
    me.act("file", id=made["id"], category="-")
    assert door.ask("read", "me", id=made["id"]).data["category"] == "preferences"
    assert '<option value="-"' not in me.get(page)
    me.act("file", id=made["id"], category="habits")
    assert door.ask("read", "me", id=made["id"]).data["category"] == "habits"


def test_a_page_lists_the_first_of_many_and_counts_all(me: Browser) -> None:
    home = me.door.folder / "home"
    chores = "".join(f"- [ ] chore {at} 📅 2020-01-01\n" for at in range(60))
    (home / "Chores.md").write_text(chores)
    for at in range(60):
        (home / f"Leads {at}.md").write_text("to [[Chores]], and chores\n")
    until(lambda: "50 / 60" in me.get("/ui/"))
    today = me.get("/ui/")
    assert today.count("<strong>chore ") == 50
    assert 'href="/ui/?most=500"' in today
    assert me.get("/ui/?most=500").count("<strong>chore ") == 60
    note = me.get("/ui/note?path=Chores.md")
    assert "50 / 60" in note
    assert note.count(".md:1</a>") == 50
    assert 'data-part="/ui/mentions?path=Chores.md"' in note, "which reads all notes, when asked"
    assert "50 / 60" in me.get("/ui/mentions?path=Chores.md")


def test_a_link_lets_one_browser_in_once(door: Door) -> None:
    secret = link(door)
    for _ in range(3):  # a preview in a mail program
        assert Browser(door).send("GET", "/ui/enter").status == 200
    first, second = Browser(door), Browser(door)
    cookie = first.enter(secret)
    assert (cookie.status, second.enter(secret).status) == (204, 410)
    assert "HttpOnly" in cookie.headers["set-cookie"]
    assert "SameSite=strict" in cookie.headers["set-cookie"]
    assert "Today" in first.get("/ui/")
    assert second.send("GET", "/ui/").status == 401
    first.send("POST", "/ui/leave", f"csrf={first.csrf()}".encode())
    assert first.send("GET", "/ui/").status == 401, "the session is closed"


def test_a_link_is_over_after_a_while(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "LINK_SECONDS", -1.0)
    assert Browser(door).enter(link(door)).status == 410
    for _ in range(3):
        link(door)
    assert len(os.listdir(Path(paths.state_root(), "page-links"))) == 1, "nobody will use others"


def test_a_second_click_on_a_link_leads_where_it_has_let_in(door: Door, me: Browser) -> None:
    secret = link(door)
    cookie = me.enter(secret).headers["set-cookie"]
    again = me.enter(secret)
    assert (again.status, again.headers.get("set-cookie")) == (204, None), cookie
    assert Browser(door).enter(secret).status == 410
    assert me.send("GET", "/ui").headers["location"] == "/ui/"


def test_a_link_of_another_vault_says_what_to_type(me: Browser) -> None:
    answer = me.enter(sessions.make_link("/notes of mine"))
    assert answer.status == 409
    assert b"vaultmem ui --vault '/notes of mine'" in answer.body


@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="gives a socket to another user"
)
@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_a_link_lets_in_no_program_of_another_user(door: Door, host: str) -> None:
    """The list of processes shows the link with which a browser was started."""
    secret = link(door)
    with socket(AF_INET6 if ":" in host else AF_INET) as client:
        client.connect((host, door.port))
        os.fchown(client.fileno(), 65534, -1)
        head = (
            f"POST /ui/enter HTTP/1.1\r\nHost: {sessions.host_name()}:{door.port}\r\nX-Vaultmem: 1"
        )
        client.sendall(f"{head}\r\nContent-Length: {len(secret)}\r\n\r\n{secret}".encode())
        assert b" 403 " in client.recv(1_000)
    assert Browser(door).enter(secret).status == 204, "it was not used up"


def test_the_name_of_the_page_is_made_again_where_half_of_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty name would be that of a request without one. Some drives have no hard links."""
    monkeypatch.delattr(os, "link")
    monkeypatch.setattr(paths, "state_root", lambda: str(tmp_path))
    name = sessions.host_name()
    assert sessions.host_name() == name
    for half in ("", name[:9], "evil.example", f"{name}.example"):
        (tmp_path / "page-host").write_text(half)
        assert re.fullmatch(r"vm-[0-9a-f]{16}\.localhost", sessions.host_name())
    assert set(os.listdir(tmp_path)) == {"page-host", ".lock"}


def test_what_is_no_link_lets_nobody_in(door: Door) -> None:
    for secret in ("", "x", "../../etc/passwd", "\0", "a" * 5_000, "💥"):
        assert Browser(door).enter(secret).status in (410, 400), secret


def test_a_session_is_for_its_host_and_port_alone(door: Door, me: Browser) -> None:
    """Cookies know no ports, and a browser sends them to every server of a name."""
    assert me.cookie.startswith(f"vaultmem_session_{door.port}="), "another vault has its own"
    for host, status in (("127.0.0.1", 401), ("evil.example", 403)):  # DNS rebinding
        other = Browser(door, host)
        other.cookie = me.cookie
        assert other.send("GET", "/ui/").status == status


def test_without_a_session_there_is_only_the_entrance(door: Door) -> None:
    stranger = Browser(door)
    more = ["/events", "/act/delete", "/nothing", "/%2e%2e/api/v1/list", "/../metrics"]
    static = ("../app.py", "..%2fapp.py", "zh.toml", "page.css/..", "..")
    for path in [*app.PAGES, *more, *(f"/static/{name}" for name in static)]:
        assert stranger.send("GET", f"/ui{path}").status in (401, 404), path
    assert stranger.send("POST", "/ui/act/delete", b"id=x").status == 401
    assert stranger.send("GET", "/ui/static/page.js").status == 200
    assert door.send("GET", "/ui/", None, "me", Host=stranger.host).status == 401, "a token"


def test_an_open_page_hears_of_changes(door: Door, me: Browser) -> None:
    with socket(AF_INET) as client:
        client.connect(("127.0.0.1", door.port))
        client.settimeout(PATIENCE)
        head = f"GET /ui/events HTTP/1.1\r\nHost: {me.host}\r\nCookie: {me.cookie}\r\n\r\n"
        client.sendall(head.encode())
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += client.recv(10_000)
        door.ask("write", "me", content="The fog horn is on the roof.")
        while not re.search(rb"data: [a-z ]*memories", heard):
            piece = client.recv(10_000)
            assert piece, heard
            heard += piece


def link(door: Door) -> str:
    return sessions.make_link(str(door.folder / "home"))


def test_the_preview_is_what_is_told_and_what_is_held_back_is_read_first(me: Browser) -> None:
    me.door.ask("write", "claude", content="The pump is serviced by Ines Marquez.")
    text = me.get("/ui/tell?q=who+services+the+pump&as=codex")
    shown = re.findall(r"<pre[^>]*>(.*?)</pre>", text, re.DOTALL)[0]
    asked = {"query": "who services the pump"}
    call = http_run.request("tools/call", 2, name="memory_recall", arguments=asked)
    answer = me.door.mcp(call, "codex", me.door.session("codex")).data
    told = answer["result"]["content"][0]["text"]
    assert "Ines Marquez" in shown
    for line in told.splitlines():
        if line.startswith("["):
            assert line.replace("&", "&amp;").replace("<", "&lt;") in shown
    outside = "The chandler gives a discount on anchors."
    me.door.ask("write", content=outside, source="https://example.org")
    shown = me.get("/ui/tell?q=chandler+discount&as=codex")
    held = shown[shown.index("Not told") : shown.index("Why these")]
    assert outside.rstrip(".") in held
    assert re.search(r'name="id" value="[-0-9a-f]{36}\t\w+"', held)
