"""What a person at a terminal sees: nothing wider than the screen, links, a pager; and in a pipe none of it."""

import io
import os
import pty
import re
import sys
import termios
from pathlib import Path

import pytest

from tests.cli_run import at_terminal, process
from tests.effort import takes_less
from tests.tables import each_case
from vaultmem import screen
from vaultmem.commands import upkeep_views
from vaultmem.commands.rendering import show_diff
from vaultmem.output import Output, Streams

LONG = """\
help all
connect --help
search damp wall
search 泡菜
backlinks Roof --mentions
related Roof
tasks
pending --all
why damp House/Roof.md
status
doctor
jobs
list
"""
_STEERS = re.compile(r"\033\[[0-9;]*[mK]|\033\]8;;[^\033]*\033\\")


def shown_at(vault: Path, words: str, columns: int, rows: int = 999, **environ: str) -> str:
    """What a person sees at a terminal of that size."""
    environ = {"TERM": "xterm-256color", "VAULTMEM_VAULT": str(vault), **environ}
    return at_terminal(*words.split(), size=(rows, columns), **environ).out


@each_case("words", LONG.splitlines())
def test_nothing_is_wider_than_the_screen(indexed: Path, words: str) -> None:
    shown = shown_at(indexed, words, 60)
    lines = [_STEERS.sub("", line.rpartition("\r")[2]) for line in shown.split("\n")]
    assert len(lines) > 1
    # A word alone may be: an address, a path without blanks, the usage line of argparse.
    wide = [line for line in lines if screen.columns(line) > 60 and " " in line.strip()]
    assert not [line for line in wide if len(line.split()) > 2], shown


def test_a_path_is_a_link_where_the_terminal_has_them(indexed: Path) -> None:
    link = f"\033]8;;file://{indexed}/People/Marek%20Nowak.md\033\\"
    words = "backlinks Roof"
    assert link in shown_at(indexed, words, 100, FORCE_HYPERLINK="1")
    assert "\033]8" not in shown_at(indexed, words, 100, FORCE_HYPERLINK="0")
    piped = process(*words.split(), VAULTMEM_VAULT=str(indexed), FORCE_HYPERLINK="1")
    assert "\033" not in piped.out


def test_a_long_answer_goes_to_the_pager_and_a_short_one_does_not(
    indexed: Path, tmp_path: Path
) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED; cat\n")
    pager.chmod(0o755)
    how = {"VAULTMEM_PAGER": str(pager), "FORCE_HYPERLINK": "1"}
    shown = shown_at(indexed, "tasks", 100, rows=20, **how)
    assert shown.startswith("PAGED")
    assert "\033]8" not in shown  # an old less would print it
    assert "PAGED" not in shown_at(indexed, "tasks", 100, rows=200, **how)
    assert "PAGED" not in process("tasks", VAULTMEM_VAULT=str(indexed), **how).out
    missing = shown_at(indexed, "tasks", 100, rows=20, VAULTMEM_PAGER="/no/such")
    assert "Garlic in" in missing


@pytest.mark.parametrize(
    ("text", "most", "seen"),
    [
        ("House/Roof.md", 20, "House/Roof.md"),
        ("Work/Projects/Combe Valley gauges.md", 30, "Work/P…/Combe Valley gauges.md"),
        ("Garden/Plot 27B.sync-conflict-20261103.md", 20, "Garden…t-20261103.md"),
        ("中文/很长的文件夹名字/HSK 三级.md", 20, "中文/很…/HSK 三级.md"),
    ],
)
def test_a_path_is_shortened_in_the_middle(text: str, most: int, seen: str) -> None:
    assert screen.cut_middle(text, most) == seen
    assert screen.columns(seen) <= most


def test_a_folded_line_stands_below_its_last_column() -> None:
    assert screen.fold("  search    find notes by words, and by meaning", 30) == (
        "  search    find notes by\n            words, and by\n            meaning"
    )
    assert screen.wrap([(one, one) for one in "aa bb cc dd".split()], 5, 1) == ["aa …"]
    assert screen.columns("泡菜 a\u0301") == 6


def test_a_diff_shows_which_words_differ() -> None:
    out = io.StringIO()
    diff = (
        "--- a\n+++ b\n@@ -1 +1 @@\n-Anne likes tea\n+Anne likes coffee\n x\n-one\n-two\n+three\n"
    )
    streams = Streams(out, out, terminal=True, colour=True)
    many = "-" + "a " * 6_000 + "\n+b " + "a " * 6_000
    assert takes_less(5, lambda: show_diff(many, Output("text", streams)))
    begin = out.tell()
    show_diff(diff, Output("text", streams))
    shown = out.getvalue()[begin:]
    assert "\033[31mAnne likes \033[0m\033[31;7mtea\033[0m\n" in shown
    assert "\033[32mAnne likes \033[0m\033[32;7mcoffee\033[0m\n" in shown
    assert "\033[31m-one\033[0m\n\033[31m-two\033[0m\n\033[32m+three\033[0m\n" in shown
    assert _STEERS.sub("", shown) == diff


def test_a_review_takes_a_single_key(monkeypatch: pytest.MonkeyPatch) -> None:
    own, theirs = pty.openpty()
    with open(theirs, encoding="utf-8") as keys:
        monkeypatch.setattr(sys, "stdin", keys)
        before = termios.tcgetattr(theirs)
        os.write(own, b"xr")  # no Enter; x is none of the keys
        assert upkeep_views._ask(Output()) == "r"
        assert termios.tcgetattr(theirs) == before
    os.close(own)


def test_where_nothing_opens_links_the_editor_opens_the_note(indexed: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\necho \"$2\" > '{tmp_path}/opened'\n")
    editor.chmod(0o755)
    words = ("search", "damp quotes", "--keyword", "--open", "--vault", str(indexed))
    how = {"PATH": str(tmp_path), "VISUAL": "", "EDITOR": f"{editor} -n"}
    assert process(*words, **how).code == 0
    assert (tmp_path / "opened").read_text() == f"{indexed}/House/Damp quotes.md\n"
    assert "EDITOR" in process(*words, **{**how, "EDITOR": ""}).err


def test_why_says_which_word_stands_where(indexed: Path) -> None:
    shown = process("why", "damp bedroom", "House/Damp quotes.md", VAULTMEM_VAULT=str(indexed)).out
    assert re.search(r"matches 'damp' in the title \(\+\d+\.\d\d\)", shown), shown
    assert re.search(r"matches 'damp', 'bedroom' in the text \(\+", shown), shown
