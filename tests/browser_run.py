"""A real Chromium on the page of a real door. Skipped without Playwright or Chromium; CI installs both and sets
TESTS_NEED_BROWSER, which turns a skip into a failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.http_run import Door, door
from vaultmem_web import sessions

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NEEDED = os.environ.get("TESTS_NEED_BROWSER")
__all__ = ["Axe", "door", "expect", "sync_playwright"]  # where they are installed, and a fixture
try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    sync_playwright = None  # type: ignore[assignment]
if not (NEEDED or (sync_playwright and CHROMIUM)):
    pytest.skip("there is no Playwright with a Chromium", allow_module_level=True)


PROBLEMS: list[str] = []  # messages of browsers about our pages


@pytest.fixture(autouse=True)
def nothing_objected_to() -> Iterator[None]:
    """No script failed, and the policy blocked nothing."""
    PROBLEMS.clear()
    yield
    assert not PROBLEMS


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=30_000)  # the machine may be busy
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


def entered(context: BrowserContext, door: Door) -> Page:
    """A page of the vault `home`; any objection of the browser fails the test."""
    context.add_init_script(HEARS)
    page = context.new_page()
    page.on("pageerror", lambda error: PROBLEMS.append(str(error)))
    page.on("console", lambda message: PROBLEMS.append(f"{message.type}: {message.text}"))
    host = f"{sessions.host_name()}:{door.port}"
    page.goto(f"http://{host}/ui/enter#{sessions.make_link(str(door.folder / 'home'))}")
    page.wait_for_url("**/ui/")
    return page


@pytest.fixture
def page(chromium: Browser, door: Door) -> Iterator[Page]:
    context = chromium.new_context()
    yield entered(context, door)
    context.close()


def at(page: Page, path: str) -> Page:
    page.goto(page.url.partition("/ui")[0] + f"/ui{path}")
    return page


# Pages tell each other whether the stream of events is open; a test hears it, too.
HEARS = "new BroadcastChannel('vaultmem').onmessage = ({ data }) => { window.isLive = data === true || window.isLive; };"


def live(page: Page) -> None:
    """Wait until the stream of events is open: from then on, no change is missed."""
    page.wait_for_function("() => window.isLive")
