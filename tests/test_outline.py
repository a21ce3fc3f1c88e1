"""Contents as outlines of Logseq pages and back: nothing is lost, and lists are blocks."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.stand_in_files import Files
from vaultmem import Vault
from vaultmem.adapter import FrontMatter
from vaultmem.notes.logseq_properties import from_outline, to_outline, with_markers
from vaultmem.text.similarity import content_hash, normal_form
from vaultmem_logseq import dialect

LINES = st.sampled_from(
    [
        *["", " ", "text", "more text", "- item", "- other", "  - nested", "    - deep", "\t- tab", "-", "- ", "--- "],
        *["1. one", "2) two", "  3. three", "* star", "+ plus", "# Head", "## TODO x", "> quote", "| a | b |"],
        *["```", "```py", "~~~", "    code", "  further", "key:: value", "- key:: value", "---", "id: x", "\tx"],
        *["- [ ] task", "- - twice", "笔记", "a\rb", "x  ", "-- two", "\u2028", "\x0b", "\0", "SCHEDULED: <2026-11-22 Sun>"],
    ]
)  # fmt: skip
CONTENTS = st.lists(LINES | st.text(max_size=6), max_size=14).map("\n".join) | st.text(max_size=40)


@given(CONTENTS)
@example("")
@example("- a")
@example("a\n- b\n\n- c\n  d\n  - e\n    f\n\ng")
@example("```\n\n- x\n\n```")
@example("- a\n    - four")
@settings(max_examples=examples(600))
def test_an_outline_gives_the_content_back(content: str) -> None:
    page = to_outline(content)
    assert content_hash(from_outline(page)) == content_hash(content)
    assert from_outline(page) == normal_form(content)
    assert to_outline(from_outline(page)) == page


@given(CONTENTS)
@settings(max_examples=examples(300))
def test_every_line_of_an_outline_belongs_to_a_block(content: str) -> None:
    page = to_outline(content)
    if not page:
        assert not normal_form(content)
        return
    lines = page.split("\n")
    assert lines[0].startswith("-")
    assert all(
        not line or line.lstrip("\t").startswith(("- ", "  ")) or line == "-" for line in lines
    )
    note = dialect.open(Files()).parse("pages/x.md", page, FrontMatter({}, None, 0))
    assert not note.properties or "::" in content


@given(st.lists(LINES | st.text(max_size=6), max_size=12).map("\n".join))
@settings(max_examples=examples(300))
def test_no_letter_of_a_page_is_lost(page: str) -> None:
    page = page.replace("\r\n", "\n")
    kept = [each for each in "".join(from_outline(page).split()) if each != "-"]
    assert kept == [each for each in "".join(page.split()) if each != "-"]


@pytest.mark.parametrize(
    ("content", "page"),
    [
        ("one", "- one"),
        ("one\ntwo", "- one\n  two"),
        ("one\n\ntwo", "- one\n- two"),
        ("one\n\n\ntwo", "- one\n\n- two"),
        ("Tea:\n- green\n- black\n  - Assam\n\nend", "- Tea:\n\t- green\n\t- black\n\t\t- Assam\n- end"),
        ("Tea:\n\n- green", "- Tea:\n\n\t- green"),
        ("- a\n- b", "-\n\t- a\n\t- b"),
        ("## Steps\n1. do\n2. rest", "- ## Steps\n\t- 1. do\n\t- 2. rest"),
        ("- a\n  more of a", "-\n\t- a\n\t  more of a"),
        ("see\n```py\nx = 1\n\ny = 2\n```", "- see\n  ```py\n  x = 1\n\n  y = 2\n  ```"),
        ("- a\n    - far in", "-\n\t- a\n\t    - far in"),
        ("- a\nlazy", "- - a\n  lazy"),
    ],
)  # fmt: skip
def test_lists_and_paragraphs_are_blocks(content: str, page: str) -> None:
    assert to_outline(content) == page
    assert from_outline(page) == content


def test_the_page_of_a_person_is_read_too() -> None:
    page = "Before.\n- one\n  id:: x\n\t- two\n\t  more\n\t\t- three\n- four\n-\n"
    assert from_outline(page) == "Before.\n\none\nid:: x\n- two\n  more\n  - three\n\nfour"
    assert from_outline("# Head\ntext\n") == "# Head\ntext"
    assert from_outline("- a\r\n- b\r\n") == "a\n\nb"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("- [ ] pay 📅 2026-12-01", "- TODO pay\n  DEADLINE: <2026-12-01 Tue>"),
        ("Trip\n  * [/] pay ⏳️ 2026-12-01 #x", "Trip\n  * DOING pay #x\n    SCHEDULED: <2026-12-01 Tue>"),
        ("- [x] one\n- [X] two\n- [-] three", "- DONE one\n- DONE two\n- CANCELED three"),
        ("- [ ] 📅 2026-13-01 no day", "- TODO 📅 2026-13-01 no day"),
        *((same, same) for same in ("- [link](x)", "[ ] no item", "- pay 📅 2026-12-01", "```\n- [ ] code\n```", "- [ ]x")),
    ],
)  # fmt: skip
def test_boxes_become_tasks_that_an_outline_knows(content: str, expected: str) -> None:
    assert with_markers(content) == with_markers(with_markers(content)) == expected


def test_a_task_in_a_memory_is_one_in_logseq(tmp_path: Path) -> None:
    (tmp_path / "logseq").mkdir()
    (tmp_path / "logseq/config.edn").write_text("{}")
    with Vault(str(tmp_path)) as vault:
        vault.sync()
        text = "- [ ] pay the hotel 📅 2026-12-01"
        written = vault.write(text, by="claude")
        assert vault.write(text, by="claude")["duplicate_of"] == written["id"]
        ((_, task),) = vault.tasks()
        assert (task["text"], task["due"], task["marker"]) == (
            "pay the hotel",
            "2026-12-01",
            "TODO",
        )
        vault.edit(written["id"], "- TODO pay the hotel\n- [ ] pack")
        assert {task["text"] for _, task in vault.tasks()} == {"pay the hotel", "pack"}
