"""What mkdocs does beside its own: the README and other pages from outside docs/ become pages of the site, links
between them are bent to where they are now, and the table of contents follows from what is there."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/recall/README.md": "benchmarks/recall.md",
}
FIRST = (
    "vault",
    "memories",
    "reminders",
    "assistants",
    "chat",
    "machines",
    "commands",
)  # of the guide
LINK = re.compile(r"(`[^`\n]*`)|(!?\[[^\]\n]*(?:\n[^\]\n]+)?\])\(([^)\s]+)\)")


def title_of(path: Path) -> str:
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE)
    assert found, path
    return found[1]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The table of contents."""
    docs = ROOT / "docs"
    rest = sorted(path.stem for path in (docs / "guide").glob("*.md") if path.stem not in FIRST)
    decisions = [f"adr/{path.name}" for path in sorted((docs / "adr").glob("*.md"))]
    config.nav = [
        {"vaultmem": ["index.md", "screens.md", "changelog.md"]},
        {"Guide": [f"guide/{name}.md" for name in (*FIRST, *rest)]},
        {"Reference": ["reference.md", "settings.md", "json.md", "words.md"]},
        {"Formats": ["format.md"]},
        {"Design": ["design.md", "security.md", "contributing.md"]},
        {"Decisions": ["adr/index.md", *decisions]},
        {"Benchmarks": ["benchmarks/index.md", "benchmarks/recall.md"]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages from outside docs/, and the list of decisions."""
    from mkdocs.structure.files import File

    for source, page in OUTSIDE.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=text))
    rows = [
        f"* [{title_of(path)}]({path.name})" for path in sorted((ROOT / "docs/adr").glob("*.md"))
    ]
    files.append(
        File.generated(config, "adr/index.md", content="# Decisions\n\n" + "\n".join(rows) + "\n")
    )
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Bend links to files outside docs/; one to what is no page keeps its text alone."""
    here = page.file.src_uri
    source = {to: path for path, to in OUTSIDE.items()}.get(here, f"docs/{here}")

    def bent(found: re.Match[str]) -> str:
        code, text, target = found.groups()
        if code or re.match(r"[a-z]+:|#", target):
            return found[0]
        path, hash_mark, anchor = target.partition("#")
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if meant == "docs/adr":
            meant = "docs/adr/index.md"
        to = OUTSIDE.get(meant, meant.removeprefix("docs/") if meant.startswith("docs/") else "")
        if not to:
            return text.strip("![]")
        return f"{text}({posixpath.relpath(to, posixpath.dirname(here) or '.')}{hash_mark}{anchor})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(bent, part) for part in parts)
