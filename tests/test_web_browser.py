"""The page as a person sees it, in a real browser."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.agent_run import until
from tests.http_run import Door
from vaultmem import Vault

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

from tests.browser_run import (
    PROBLEMS,
    Axe,
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

PAGES = {
    "today": "/", "search": "/search?q=boiler", "memories": "/memories", "table": "/memories?view=table",
    "review": "/review", "tell": "/tell?q=who+services+the+boiler&as=claude", "note": "/note?path=Boiler",
    "conversations": "/conversations", "conversation": "/conversation?id=default", "health": "/health",
}  # fmt: skip
FADES = {"content": "The scaffold stays until spring.", "decay": "reinforceable"}


# --- every page, for everybody


LOOKS: list[dict[str, str]] = [
    {"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}, {},
]  # fmt: skip


def test_every_page_is_accessible(page: Page, door: Door) -> None:
    """In all colours, and on a narrow screen."""
    made = door.ask("write", "me", **FADES).data
    long = door.ask("write", "me", content="W" * 200).data["path"]
    more = {"memory": f"/memory?id={made['id']}", "long": f"/note?path={quote(long)}"}
    for name, path in {**PAGES, **more}.items():
        page.set_viewport_size({"width": 1280, "height": 720})
        at(page, path)
        page.wait_for_load_state()
        for look in LOOKS:
            page.emulate_media(**{"color_scheme": "light", "forced_colors": "none", **look})  # type: ignore[arg-type] # as Playwright names them
            if not look:
                page.set_viewport_size({"width": 360, "height": 740})
            found = [
                (one["id"], one["nodes"][0]["html"][:200])
                for one in Axe().run(page).response["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            assert not found, (name, look, found)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{name} scrolls sideways"
        page.set_viewport_size({"width": 1000, "height": 720})
        assert page.locator("nav").bounding_box()["height"] < 45, "one line"  # type: ignore[index] # it is shown


# --- acting


def test_a_memory_is_corrected_forgotten_and_brought_back(page: Page, door: Door) -> None:
    made = door.ask("write", content="The tide tables are in the top drawer.").data
    at(page, f"/memory?id={made['id']}")
    page.get_by_text("Edit", exact=True).click()
    page.locator("#editor textarea").fill("The tide tables are in the chart chest.")
    expect(page.get_by_role("button", name="Still true")).to_have_count(0)  # it does not fade
    page.get_by_label("tags").fill("tides")
    page.get_by_role("button", name="Tag", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("tagged")
    expect(page.locator("#editor textarea")).to_have_value(
        "The tide tables are in the chart chest."
    )
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#notice")).to_contain_text("changed")
    expect(page.locator("#editor")).not_to_have_attribute(
        "open", ""
    )  # else it is not shown again when it changes
    expect(page.locator("#content > .prose")).to_have_text(
        "The tide tables are in the chart chest."
    )
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#content > .prose")).to_have_text("The tide tables are in the top drawer.")
    page.get_by_role("button", name="Forget", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("forgotten")
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("taken back")
    assert door.ask("read", id=made["id"]).status == 200


def test_several_are_tagged_and_merged_at_once(page: Page, door: Door) -> None:
    for n in ("first", "second"):
        door.ask("write", content=f"The {n} anchor is a plough anchor of nine kilos.")
    at(page, "/memories?words=plough")
    for n in ("first", "second"):
        page.get_by_role("checkbox", name=f"choose: The {n} anchor").check()
    page.get_by_label("tags").fill("boat")
    page.get_by_role("button", name="Tag", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("tagged: 2")
    expect(page.locator(".row .labels a", has_text="#boat")).to_have_count(2)
    for box in page.locator(".row input[type=checkbox]").all():
        box.check()
    page.get_by_role("button", name="Merge").click()
    assert page.url.endswith("/ui/merge"), "the token of the form is in no address"
    page.get_by_label("The one text").fill("Both anchors are plough anchors of nine kilos.")
    page.get_by_role("button", name="Merge").click()
    expect(page.locator("#notice")).to_contain_text("merged")
    expect(page).to_have_title("Memories - vaultmem")
    at(page, "/memories?words=plough")
    expect(page.locator(".list .row")).to_have_count(1)


def test_a_memory_shows_its_sentence_and_recalls_and_goes_with_it(page: Page, door: Door) -> None:
    with Vault(door.folder / "home") as home:
        new = [
            {"role": "user", "id": "t1", "content": "Hello.\nThe sextant came from aunt Greta! Bye."},
            {"role": "memory", "id": "f1", "content": "The sextant came from aunt Greta", "of": ["t1"]},
        ]  # fmt: skip
        home.converse("attic", new=new)
        made = home.promote_fact("f1")["id"]
    assert door.ask("read", "codex", id=made).status == 200
    at(page, f"/memory?id={made}")
    expect(page.locator("blockquote")).to_have_text("The sextant came from aunt Greta!")
    expect(page.locator("dl")).to_contain_text("codex")
    page.get_by_role("link", name="attic", exact=True).click()
    page.wait_for_url("**/conversation?**")
    assert page.locator(".turn .prose").inner_text().startswith("Hello.\n")
    page.get_by_role("button", name="Forget this").click()
    expect(page.locator(".turn")).to_have_count(0)
    assert door.ask("read", id=made).status == 404
    expect(page.locator(".empty")).to_have_text("Nothing is there.")
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".turn")).to_have_count(1)
    assert door.ask("read", id=made).status == 200


def test_what_is_due_is_done_and_taken_back(page: Page, door: Door) -> None:
    (door.folder / "home" / "Jobs.md").write_text("- [ ] Sweep the chimney 📅 2026-11-01\n")
    at(page, "/")
    until(
        lambda: (
            page.reload() and page.locator("#content .row", has_text="Sweep the chimney").count()
        )
    )
    row = page.locator("#content .row", has_text="Sweep the chimney")
    row = page.locator(f"#{row.first.get_attribute('id')}")
    expect(row.locator("time")).to_have_text("Nov 1, 2026")
    page.locator("body").press("a")  # no row is chosen
    page.locator("body").press("r")
    expect(page.locator("#notice")).to_be_empty()
    row.get_by_role("button", name="Done").click()
    expect(page.locator("#notice")).to_contain_text("marked as done")
    expect(row).to_have_count(0)
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("taken back")
    expect(row).to_have_count(1)


def test_results_come_while_one_types(page: Page) -> None:
    at(page, "/search")
    expect(page.locator("#search input").first).to_be_focused()
    page.keyboard.type("boiler")
    expect(page.locator("#results .row").first).to_contain_text("Boiler")
    expect(page.locator("#results mark").first).to_have_text("Boiler")
    expect(page.get_by_role("status").first).to_have_text(re.compile(r"^\d+ found$"))
    page.locator("#results summary").first.click()
    expect(page.locator("#results details table")).to_be_visible()


def test_the_keyboard_is_enough(page: Page, door: Door) -> None:
    made = door.ask("write", content="The winch handle is under the port seat.").data
    page.keyboard.press("/")
    page.keyboard.type("winch handle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?**")
    expect(page.locator("#search input").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search input").first).to_have_value("winch handle")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory?**")
    page.keyboard.press("e")
    page.keyboard.press("Control+A")
    page.keyboard.type("The winch handle is in the cockpit locker.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("changed")
    page.keyboard.press("Escape")
    page.locator("body").press("u")
    expect(page.locator("#notice")).to_contain_text("taken back")
    assert (
        door.ask("read", id=made["id"]).data["content"]
        == "The winch handle is under the port seat."
    )


def test_a_typed_text_survives_a_conflict(page: Page, door: Door) -> None:
    """Two tabs and an assistant on one memory."""
    made = door.ask("write", content="The mooring fee is due in March.").data
    at(page, f"/memory?id={made['id']}")
    page.get_by_text("Edit", exact=True).click()
    page.locator("#editor textarea").fill("The mooring fee is due in April, says the club.")
    page.keyboard.press("Shift+Tab")
    door.ask("edit", "me", id=made["id"], content="The mooring fee is due in May.")
    time.sleep(1)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#notice")).to_contain_text("changed meanwhile")
    expect(page.locator("#editor textarea")).to_have_value(
        "The mooring fee is due in April, says the club."
    )
    assert door.ask("read", id=made["id"]).data["content"] == "The mooring fee is due in May."
    # The session ends, and another one begins: the form is not of that one.
    with page.context.new_page() as other:
        other.goto(f"{page.url.partition('/ui')[0]}/ui/")
        other.get_by_role("button", name="Close this session").click()
        expect(other.locator("#entrance")).to_be_visible()
        for status in (401, 403):
            with page.expect_console_message(), page.expect_response("**/act/edit") as answer:
                page.get_by_role("button", name="Save").click()
            assert answer.value.status == status
            expect(page.locator("#ended")).to_be_visible()
            expect(page.locator("#editor textarea")).to_have_value(
                "The mooring fee is due in April, says the club."
            )
            entered(page.context, door)
    PROBLEMS.clear()  # the browser's own lines about these answers


def test_it_works_without_the_script(chromium: Browser, door: Door) -> None:
    made = door.ask("write", content="The bilge pump has a grey float.").data
    context = chromium.new_context()
    page = entered(context, door)
    silent = chromium.new_context(java_script_enabled=False)
    silent.add_cookies(context.cookies())
    address, page = page.url, silent.new_page()
    page.goto(f"{address}memory?id={made['id']}")
    page.get_by_role("button", name="Forget", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("forgotten")
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("taken back")
    page.goto(f"{address}search?q=bilge")
    expect(page.locator("#results .row").first).to_contain_text("bilge")
    context.close()
    silent.close()


# --- what changes elsewhere


def test_what_others_write_is_shown_at_once_in_eight_tabs(page: Page, door: Door) -> None:
    at(page, "/memories?words=quay")
    live(page)
    tabs = [page.context.new_page() for _ in range(7)]
    for tab in tabs:
        tab.goto(page.url)
    door.ask("write", content="The quay is closed on Sundays.")
    for tab in [page, *tabs]:
        expect(tab.locator(".list .row")).to_have_count(1)
    tabs[0].evaluate("window.isLive = false")
    page.close()  # it had the stream; another tab takes over
    live(tabs[0])
    door.ask("write", content="The quay opens at seven.")
    expect(tabs[-1].locator(".list .row")).to_have_count(2)


def test_a_save_in_the_editor_is_shown(page: Page, door: Door) -> None:
    (door.folder / "home" / "Harbour.md").write_text("# Harbour\n")
    until(lambda: at(page, "/note?path=Harbour").locator("h1").inner_text() == "Harbour")
    PROBLEMS.clear()  # it was no note at first
    live(page)
    (door.folder / "home" / "Pilot.md").write_text("The pilot boat waits off the [[Harbour]].\n")
    expect(page.locator("#content")).to_contain_text("Linked from")
    page.get_by_role("link", name="Pilot.md:1").click()
    expect(page.locator(".prose")).to_contain_text("The pilot boat waits")
    page.locator(".prose").get_by_role("link", name="Harbour").click()
    expect(page.locator("h1")).to_have_text("Harbour")


def test_a_thousand_memories_scroll(page: Page, door: Door) -> None:
    folder = door.folder / "home" / "vaultmem" / "skills"
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(1_000):
        (folder / f"Knot {n}.md").write_text(
            f"---\nid: {n:08}-0000-4000-8000-000000000000\n---\nKnot {n} of the rope book\n"
        )
    until(lambda: door.ask("list", limit=2_000).data["count"] >= 1_000)
    at(page, "/memories?words=rope&view=table")
    expect(page.locator(".count")).to_contain_text("1,000")
    expect(page.locator("#several")).to_be_hidden()
    chosen = page.locator(".list .row[data-at='0'] input")
    chosen.check()
    chosen.blur()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".list .row[data-at='999']")).to_be_visible()
    assert page.locator(".list .row").count() < 150
    expect(page.locator(".list .row[data-at='999']")).to_have_attribute("aria-posinset", "1000")
    expect(chosen).to_be_checked()  # far away, and still to be sent
    expect(page.get_by_role("button", name="Forget the chosen")).to_be_in_viewport()
    door.ask("write", content="One more knot for the rope book.")
    expect(page.locator(".count")).to_contain_text("1,001")  # shown again, and where it was
    last = page.locator(".list .row[data-at='998']")
    expect(last).to_be_in_viewport()
    last.focus()

    def focused() -> int:
        return int(page.evaluate("document.activeElement.dataset.at ?? 0"))

    until(lambda: page.keyboard.press("k") or 0 < focused() <= 900)
    row = page.evaluate("document.activeElement.id")
    door.ask("write", content="A second knot for the rope book.")
    expect(page.locator(".count")).to_contain_text("1,002")
    expect(page.locator(".list .row:focus")).to_have_id(row)


# --- traps
