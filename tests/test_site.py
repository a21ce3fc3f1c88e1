"""The site of the documentation is built without a network, with links that lead somewhere, and loads nothing from elsewhere."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
NO_WAY_OUT = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}


class Page(HTMLParser):
    """What a page loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given.get("href", ""))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    site = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-f", ".ci/mkdocs.yml", "--quiet", "--strict", "--site-dir", str(site)],
        cwd=ROOT, env={**os.environ, **NO_WAY_OUT, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_of_the_documentation_is_on_the_site(pages: dict[Path, Page]) -> None:
    top = min(pages, key=lambda path: len(path.parts)).parent
    there = {path.relative_to(top).with_suffix(".md").as_posix() for path in pages}
    wanted = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert wanted <= there
    assert {"index.md", "changelog.md", "benchmarks/index.md", "adr/index.md"} <= there


def test_no_page_loads_anything_from_another_machine(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert page.loads
        for address in page.loads:
            parts = urlsplit(address)
            assert not parts.scheme, (path.name, address)
            assert not parts.netloc, (path.name, address)
            assert (path.parent / unquote(parts.path)).resolve().exists(), (path.name, address)
