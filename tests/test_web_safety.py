"""The page in a real browser: no frame, no other site, no link from elsewhere; and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.agent_run import until
from tests.cli_run import process
from tests.http_run import Door, serving
from vaultmem.service import life
from vaultmem_web import sessions

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

from tests.browser_run import HEARS, at, chromium, door, expect, live, nothing_objected_to, page

__all__ = ["chromium", "door", "nothing_objected_to", "page"]  # fixtures


def test_no_frame_no_foreign_image_no_other_site(page: Page, chromium: Browser, door: Door) -> None:
    made = door.ask(
        "write",
        "me",
        content="![x](http://127.0.0.1:9/x.png) and <img src=http://127.0.0.1:9/y.png> on the sail.",
    ).data
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    at(page, f"/memory?id={made['id']}")
    assert all(url.startswith(page.url.partition("/ui")[0]) for url in asked), asked
    address = page.url
    context = chromium.new_context()
    context.add_cookies(page.context.cookies())
    frame = context.new_page()
    frame.set_content(f"<iframe src='{address}'></iframe>")
    frame.wait_for_timeout(500)
    assert "sail" not in "".join(one.content() for one in frame.frames[1:])
    context.close()


def test_a_link_in_a_mail_lets_in(chromium: Browser, door: Door, tmp_path: Path) -> None:
    """A Strict cookie does not come with a redirect from another site; the entrance sends the secret by itself."""
    host = f"{sessions.host_name()}:{door.port}"
    mail = tmp_path / "mail.html"
    mail.write_text(
        f"<a href='http://{host}/ui/enter#{sessions.make_link(str(door.folder / 'home'))}'>open</a>"
    )
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"file://{quote(str(mail))}")
    page.click("a")
    page.wait_for_url("**/ui/")
    expect(page.locator("h1")).to_have_text("Today")
    context.close()


def test_stop_ends_the_page_of_ui_and_the_page_says_so(chromium: Browser, tmp_path: Path) -> None:
    vault = tmp_path / "home"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Note.md").write_text("# Note\n")
    patient = "from vaultmem_server import serving\nserving.LAST_BYTES = 600\n"
    # a stream that is not ended holds the door for ten minutes
    (tmp_path / "sitecustomize.py").write_text(patient)
    url = process("ui", "--print-url", "--vault", str(vault), PYTHONPATH=str(tmp_path)).out
    (one,) = life.open_doors(str(vault))
    context = chromium.new_context()
    context.add_init_script(HEARS)
    tabs = [context.new_page(), context.new_page()]
    tabs[0].goto(url)
    tabs[0].wait_for_url("**/ui/")
    tabs[1].goto(f"{url.partition('/ui')[0]}/ui/memories")
    live(tabs[0])
    shown = process("stop", "--vault", str(vault)).out
    assert "agent stopped" in shown
    assert f"page closed (process {one.pid}, {one.url}/ui)" in shown
    for tab in tabs:
        expect(tab.locator("#stopped")).to_be_visible()
    assert not life.serves(one.pid)
    assert life.ping(str(vault)) is None
    context.close()


def test_stop_leaves_a_door_of_the_person_open(tmp_path: Path) -> None:
    vault = tmp_path / "home"
    (vault / ".obsidian").mkdir(parents=True)
    with serving(["--vault", str(vault), "--http", "127.0.0.1:0"]) as port:
        until(lambda: life.open_doors(str(vault)))
        ended = process("stop", "--vault", str(vault))
        assert "agent stopped" in ended.out
        assert "page" not in ended.out
        assert f"serve --http at http://127.0.0.1:{port} (process" in ended.err
        until(lambda: life.ping(str(vault)))
