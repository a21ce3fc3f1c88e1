"""A small vault of each kind, and memory commands run on it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli_run import Ran, one_line, ran, tree_hash
from tests.conftest import fill
from vaultmem.vault.identity import MARKER

KINDS = ("obsidian", "plain", "logseq")
Make = Callable[[str], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A small vault of each kind, with a note of its own."""

    def made(kind: str) -> Path:
        notes = "pages" if kind == "logseq" else "Notes"
        own = {"obsidian": ".obsidian/app.json", "logseq": "logseq/config.edn"}.get(kind)
        return fill(tmp_path / f"{kind} vault", {
            f"{notes}/Anne.md": "- Anne is my sister. [[Bicycle]]\n", f"{notes}/Bicycle.md": "- The blue one.\n",
            **({own: "{}\n"} if own else {}),
        })  # fmt: skip

    return made


@pytest.fixture
def vault(make: Make) -> Path:
    return make("obsidian")


def on(vault: Path, *words: str, stdin: bytes = b"") -> Ran:
    shape = () if "--format" in words else ("--json",)
    return ran(words[0], "--vault", str(vault), *shape, *words[1:], stdin=stdin)


def said(vault: Path, *words: str) -> Ran:
    """What a command prints for a person."""
    ended = on(vault, words[0], "--format", "text", *words[1:])
    assert ended.code == 0, ended.err
    return ended


def refused(vault: Path, *words: str, code: int = 1) -> str:
    """The one line of an error, which is the same in both formats."""
    plain = on(vault, words[0], "--format", "text", *words[1:])
    line = one_line(plain)
    assert (plain.code, plain.out) == (code, "")
    assert line.startswith("vaultmem: ")
    ended = on(vault, words[0], "--format", "json", *words[1:])
    assert (ended.code, ended.out) == (code, "")
    assert json.loads(one_line(ended)) == {"error": line.removeprefix("vaultmem: ")}
    return line


def files(vault: Path) -> list[str]:
    """All files of the memory folder except generated pages and views."""
    return sorted(
        path.relative_to(vault).as_posix()
        for path in (vault / "vaultmem").rglob("*")
        if path.is_file() and path.name not in (MARKER, "Memory.md") and path.suffix != ".base"
    )


def outside(vault: Path) -> str:
    """A hash over everything that is not ours to write."""
    return "".join(tree_hash(path) for path in sorted(vault.iterdir()) if path.name != "vaultmem")


def cli_main(*words: str) -> int:
    from vaultmem import cli

    return cli.main([*words])
