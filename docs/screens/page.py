"""Pictures of the page for the documentation, from the real program on a copy of the sample vault.
Needs pip install '.[browser]' and a Chromium: python docs/screens/page.py"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PAGES = {"memories": "/memories", "note": "/note?path=Roof"}
WIDTH = 1000
MEMORIES = (
    ("The boiler is serviced by Mr Ansah every October.", "claude", "knowledge"),
    ("Anne prefers trains to planes, and window seats.", "claude", "people"),
    ("We chose slate for the roof because of the weight.", "codex", "decisions"),
    ("The scaffold stays until the gutter is done.", "gemini", "project"),
)


def main() -> None:
    """Take them."""
    with tempfile.TemporaryDirectory() as scratch:
        vault = Path(scratch, "life")
        shutil.copytree(HERE.parents[1] / "sample-vault", vault)
        os.environ |= {"VAULTMEM_STATE": str(Path(scratch, "state")), "HOME": scratch}
        vaultmem("init", vault)
        for text, agent, category in MEMORIES:
            vaultmem("write", vault, text, "--agent", agent, "--category", category)
        url = json.loads(vaultmem("ui", vault, "--print-url", "--json"))["url"]
        try:
            take(url)
        finally:
            vaultmem("stop", vault)


def vaultmem(command: str, vault: Path, *words: str) -> str:
    """What a command prints."""
    line = [sys.executable, "-m", "vaultmem", command, *words, "--vault", str(vault)]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def take(url: str) -> None:
    """All pages."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        page.goto(url)
        page.wait_for_url("**/ui/")
        root = page.url.rstrip("/")
        page.set_viewport_size({"width": WIDTH, "height": 760})
        for name, path in PAGES.items():
            page.goto(root + path)
            page.wait_for_load_state()
            page.screenshot(path=HERE / f"page-{name}-{WIDTH}.png")
        browser.close()


if __name__ == "__main__":
    main()
