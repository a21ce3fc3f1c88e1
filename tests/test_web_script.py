"""The script of the page: what it keeps, what it shows again, and which row a key means."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from tests.http_run import Door

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

from tests.browser_run import (
    PROBLEMS,
    at,
    chromium,
    door,
    entered,
    expect,
    live,
    nothing_objected_to,
    page,
)

__all__ = ["chromium", "door", "nothing_objected_to", "page"]  # fixtures


def test_a_text_typed_into_an_older_one_replaces_no_newer_one(page: Page, door: Door) -> None:
    """The editor was closed, so the page showed the newer text meanwhile; what was typed is still there."""
    made = door.ask("write", content="The lock opens at nine.").data
    at(page, f"/memory?id={made['id']}")
    live(page)
    page.get_by_text("Edit", exact=True).click()
    page.locator("#editor textarea").fill("The lock opens at ten, says Ola.")
    page.keyboard.press("Escape")
    page.get_by_text("Edit", exact=True).click()
    door.ask("edit", "me", id=made["id"], content="The lock is closed.")
    expect(page.locator(".prose").first).to_have_text("The lock is closed.")
    page.get_by_text("Edit", exact=True).click()
    expect(page.locator("#editor textarea")).to_have_value("The lock opens at ten, says Ola.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#notice")).to_contain_text("changed meanwhile")
    assert door.ask("read", id=made["id"]).data["content"] == "The lock is closed."


def test_what_came_while_a_field_had_the_focus_is_shown_behind_it(page: Page, door: Door) -> None:
    made = door.ask("write", content="The cleat is loose.").data
    at(page, "/memories?words=cleat")
    live(page)
    page.locator(".list .row input").check()
    door.ask("write", content="The other cleat is fine.")
    time.sleep(4)  # until the agent has nothing more to say of it
    expect(page.locator(".list .row")).to_have_count(1)
    page.locator(".list .row input").blur()
    expect(page.locator(".list .row")).to_have_count(2)
    expect(page.locator(f".list .row [value^='{made['id']}']")).to_be_checked()


def test_a_key_means_the_rows_that_are_chosen(page: Page, door: Door) -> None:
    ids = [door.ask("write", content=f"The fender {n} is flat.").data["id"] for n in "abc"]
    at(page, "/memories?words=fender")
    page.keyboard.press("r")  # nothing is chosen
    expect(page.locator("#notice")).to_be_empty()
    for key in "jxjxr":
        page.keyboard.press(key)
    expect(page.locator("#notice")).to_contain_text("forgotten: 2")
    assert [door.ask("read", id=id_).status for id_ in ids].count(404) == 2
    page.keyboard.press("u")
    expect(page.locator("#notice")).to_contain_text("taken back")


def test_a_long_list_has_its_days_and_asks_again_for_missing_rows(page: Page, door: Door) -> None:
    folder = door.folder / "home" / "vaultmem" / "knowledge"
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(300):
        (folder / f"Tide {n}.md").write_text(
            f"---\nid: {n:08}-0000-4000-8000-000000000001\ncreated_at: 2026-0{1 + n // 100}-0{1 + n // 50}T12:00:00Z\n"
            f"---\nTide {n} of the almanac\n"
        )
    door.ask("sync", "me")
    at(page, "/memories?words=almanac&view=days")
    expect(page.locator(".count")).to_contain_text("300")
    expect(page.locator(".list .row[data-first]")).to_have_count(1)
    page.route(
        "**/memories/rows**",
        lambda route: route.fulfill(
            status=503, body="<div id=content></div>", content_type="text/html"
        ),
    )
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(500)
    expect(page.locator(".list .row[data-at='299']")).to_have_count(0)
    page.unroute("**/memories/rows**")
    page.evaluate("scrollBy(0, -10)")
    expect(page.locator(".list .row[data-at='299']")).to_be_visible()
    page.evaluate("scrollBy(0, -40 * 128)")
    expect(page.locator(".list .row[data-at='250']")).to_have_attribute("data-first", "")
    expect(page.locator(".list .row[data-at='251']")).not_to_have_attribute("data-first", "")
    PROBLEMS.clear()  # the browser's own lines about the answers that did not come


def test_a_day_is_that_of_the_person(chromium: Browser, door: Door) -> None:
    folder = door.folder / "home" / "vaultmem" / "knowledge"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Night.md").write_text(
        "---\nid: 00000000-0000-4000-8000-000000000009\ncreated_at: 2026-03-01T18:00:00Z\n---\nNight of the lamplighter\n"
    )
    door.ask("sync", "me")
    context = chromium.new_context(timezone_id="Asia/Tokyo", locale="en-GB")
    page = at(entered(context, door), "/memories?words=lamplighter&view=days")
    expect(page.locator(".list .row[data-first]")).to_have_attribute(
        "data-day", re.compile("Monday,? 2 March 2026")
    )
    context.close()


def test_a_page_that_could_not_be_shown_comes_when_it_can(page: Page, door: Door) -> None:
    at(page, "/note?path=Lagoon")
    expect(page.locator("h1")).to_have_text("That did not work")
    live(page)
    (door.folder / "home" / "Lagoon.md").write_text("# Lagoon\n\nIt is shallow.\n")
    expect(page.locator("h1")).to_have_text("Lagoon")
    PROBLEMS.clear()  # the browser's own line about the first answer


def test_what_changed_while_the_stream_was_away_comes_later(page: Page, door: Door) -> None:
    page.route("**/ui/events", lambda route: route.abort())
    at(page, "/memories?words=capstan")
    expect(page.locator("#stopped")).to_be_visible()
    door.ask("write", content="The capstan is stiff.")
    quiet = {"content_type": "text/event-stream", "body": "retry: 100\n\n"}  # it tells of nothing
    page.route("**/ui/events", lambda route: route.fulfill(**quiet))
    expect(page.locator(".list .row")).to_have_count(1)
    PROBLEMS.clear()  # the browser's own lines about the stream


def test_a_phone_shows_the_first_memory_at_once(page: Page, door: Door) -> None:
    door.ask("write", content="The painter is spliced.")
    page.set_viewport_size({"width": 320, "height": 640})
    at(page, "/memories?words=painter")
    expect(page.locator(".list .row a").first).to_be_in_viewport()
    box, link = page.evaluate(
        "['input', 'a'].map(one => document.querySelector(`.list .row ${one}`).getBoundingClientRect().toJSON())"
    )
    assert link["top"] < box["bottom"], "beside its box"
    assert page.evaluate("document.documentElement.scrollWidth") == 320
