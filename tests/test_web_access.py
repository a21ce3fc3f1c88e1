"""Who is let in to the page: links, sessions and their hosts."""

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from socket import AF_INET, AF_INET6, socket

import pytest

from tests.http_run import Door
from tests.web_run import Browser, door, me
from vaultmem import paths
from vaultmem_web import app, sessions

__all__ = ["door", "me"]  # fixtures


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
        client.settimeout(5)
        head = f"GET /ui/events HTTP/1.1\r\nHost: {me.host}\r\nCookie: {me.cookie}\r\n\r\n"
        client.sendall(head.encode())
        heard = b""
        for number in range(20):
            door.ask("write", "me", content=f"The fog horn number {number} is on the roof.")
            with suppress(TimeoutError):
                heard += client.recv(10_000)
            if re.search(rb"data: [a-z ]*memories", heard):
                return
    raise AssertionError(heard)


def link(door: Door) -> str:
    return sessions.make_link(str(door.folder / "home"))
