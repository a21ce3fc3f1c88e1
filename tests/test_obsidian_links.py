"""Links as Obsidian finds and resolves them (R-LINK), for rules beyond the link cases and for names of many files."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import fill
from tests.effort import is_linear
from tests.index_dump import synced
from tests.laws import examples
from tests.obsidian_notes import note, rules
from vaultmem.notes.dialects import Rulebook


def found(text: str) -> list[tuple[str, str, str | None, str | None]]:
    return [(link.kind, link.path, link.subpath, link.display) for link in note(text).links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[A|b|c]]", ("wikilink", "A", None, "b|c")),
        ("[[ A # b | c ]]", ("wikilink", "A", "# b", "c")),
        ("[[[A]]]", ("wikilink", "A", None, None)),
        ("[[a [[B]]", ("wikilink", "B", None, None)),
        ("![[A#^id|100x145]]", ("embed", "A", "#^id", "100x145")),
        ("\\![[A]]", ("wikilink", "A", None, None)),
        ("\\\\[[A]]", ("wikilink", "A", None, None)),
        ("[[A|]]", ("wikilink", "A", None, None)),
        ("[[Cafe\u0301]]", ("wikilink", "Café", None, None)),
        ("[a](<b c.md>)", ("markdown", "b c.md", None, "a")),
        ("[a](b.md 'title')", ("markdown", "b.md", None, "a")),
        ("[a](b.md (title))", ("markdown", "b.md", None, "a")),
        ("[a](b_(c).md)", ("markdown", "b_(c).md", None, "a")),
        ("[a](b\\(c.md)", ("markdown", "b(c.md", None, "a")),
        ("[a [b] c](d.md)", ("markdown", "d.md", None, "a [b] c")),
        ("[a [b](c.md) d](e.md)", ("markdown", "c.md", None, "b")),
        ("[a `]` c](d.md)", ("markdown", "d.md", None, "a `]` c")),
        ("[](d.md)", ("markdown", "d.md", None, None)),
        ("[a\nb](d.md)", ("markdown", "d.md", None, "a\nb")),
        ("[a](%E4%B8%AD%E6%96%87.md)", ("markdown", "中文.md", None, "a")),
        ("[a](C%23.md)", ("markdown", "C", "#.md", "a")),
        ("[a](100%.md)", ("markdown", "100%.md", None, "a")),
        ("[a](%FF.md)", ("markdown", "%FF.md", None, "a")),
        ("[a](#Part%20two)", ("markdown", "", "#Part two", "a")),
        ("![a|50](p.png)", ("embed", "p.png", None, "a|50")),
        ('---\nup: "[[A#b|c]]"\n---\n', ("frontmatter", "A", "#b", "c")),
        ('---\nup: "[t](x%20y.md)"\n---\n', ("frontmatter", "x y.md", None, "t")),
    ],
)
def test_a_link(text: str, expected: tuple[str, str, str | None, str | None]) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "\\[\\[x\\]\\]", "\\[[x]]", "[[a\nb]]", "[[]]", "[[ ]]", "[[|x]]", "[[x]", "[x]]", "[a](b c.md)",
        "[a](https://x.org)", "[a](mailto:x)", "[a](obsidian://open)", "[a](<https://x y>)", "[a]()",
        "[a](<>)", "[a] (b.md)", "\\[a](b.md)", "[a\\](b.md)", "[a\n\nb](c.md)", "[^1]: note", "[a][b]",
        "```\n[[x]]\n", "    ```\n    [[x]]", "<!-- [[x]] -->", "- [ ] task", "](b.md)",
        "---\nup: [[A]]\n---\n", '---\nup: "see [[A]]"\n---\n', '---\nup: "[t](http://x)"\n---\n',
        '---\nup: "[[A]] and [[B]]"\n---\n',
    ],
)  # fmt: skip
def test_no_link(text: str) -> None:
    assert found(text) == []


def test_property_links_come_first_and_know_their_line() -> None:
    text = '---\na: "[[X]]"\nb:\n  - "[[Y]]"\n  - "[[X]]"\nc: {d: "[[Z]]"}\n---\n[[W]]\n'
    assert [(link.path, link.line) for link in note(text).links] == [
        ("X", 2),
        ("Y", 4),
        ("X", 5),
        ("Z", 6),
        ("W", 8),
    ]


def resolved(path: str, files: list[str], source: str = "s.md") -> str | None:
    """The target by the contract of Rules, without a catalog."""
    door = rules()
    links = note(f"[[{path}]]").links
    for name in door.lookups(links[0].key):
        candidates = [file for file in files if name in door.names(file, None)]
        if candidates:
            return door.resolve(links[0].path, links[0].key, source, candidates)
    return None


@pytest.mark.parametrize(
    ("path", "files", "source", "expected"),
    [
        ("v1.2 notes", ["v1.2 notes.md"], "s.md", "v1.2 notes.md"),
        ("Draft.md", ["Draft.md.md"], "s.md", "Draft.md.md"),
        ("Draft.md", ["a/Draft.md", "Draft.md.md"], "s.md", "a/Draft.md"),
        ("pic", ["pic.png"], "s.md", None),
        ("Ext.MD", ["ext.md"], "s.md", "ext.md"),
        ("STRASSE", ["Straße.md"], "s.md", None),
        ("οδος", ["ΟΔΟΣ.md"], "s.md", "ΟΔΟΣ.md"),
        ("ΟΔΟΣ", ["ΟΔΟΣ.md"], "s.md", "ΟΔΟΣ.md"),
        ("ΟΔΟΣ/a", ["x/οδος/a.md"], "s.md", "x/οδος/a.md"),
        ("a\u00a0b", ["a b.md"], "s.md", "a b.md"),
        ("a b", ["a\u202fb.md"], "s.md", "a\u202fb.md"),
        ("b/Note", ["a/b/Note.md"], "s.md", "a/b/Note.md"),
        ("b/Note", ["ab/Note.md"], "s.md", None),
        ("Note", ["x/Note.md", "Note.md"], "x/s.md", "Note.md"),
        ("Note", ["yyyy/Note.md", "x/Note.md"], "yyyy/s.md", "yyyy/Note.md"),
        ("Note", ["x/Note.md", "y/d/e/Note.md"], "y/s.md", "y/d/e/Note.md"),
        ("Note", ["x/Note.md", "yyyy/Note.md"], "yyyy/deep/s.md", "x/Note.md"),
        ("Note", ["xyz/Note.md", "a/b/Note.md"], "s.md", "a/b/Note.md"),
        ("Note", ["b/Note.md", "a/Note.md"], "s.md", "a/Note.md"),
        ("./z", ["a/z.md", "z.md"], "a/x.md", "a/z.md"),
        ("./z", ["z.md"], "a/x.md", None),
        ("../z", ["z.md", "a/z.md"], "a/b/x.md", "a/z.md"),
        ("../../../z", ["z.md"], "a/x.md", "z.md"),
        ("/a/z", ["b/a/z.md", "a/z.md"], "s.md", "a/z.md"),
        ("/z", ["a/z.md"], "s.md", None),
        ("a/", ["a.md", "a/a.md"], "s.md", None),
        ("#h", ["x.md"], "s.md", "s.md"),
    ],
)
def test_finding_the_target(path: str, files: list[str], source: str, expected: str | None) -> None:
    if path == "#h":
        assert rules().resolve("", "", source, []) == expected
    else:
        assert resolved(path, files, source) == expected


# --- Many files of one name


FOLDERS = ("", "a/", "a/b/", "A/b/", "b/", "c/a/b/", "c/é/", "c/e\u0301/")
LINKS = (
    "x", "X.md", "a/x", "b/x", "/x", "/a/x", "./x", "../x", "../b/x", "é/x", "none/x", "a/../b/x",
)  # fmt: skip


@given(
    link=st.sampled_from(LINKS),
    home=st.sampled_from(FOLDERS),
    folders=st.lists(st.sampled_from(FOLDERS), unique=True, max_size=len(FOLDERS)),
)
@example(link="b/x", home="", folders=["a/b/", "c/a/b/", "b/", "a/"])
@settings(max_examples=examples(300))
def test_a_link_has_as_many_choices_as_files_it_could_mean_alone(
    link: str, home: str, folders: list[str]
) -> None:
    door, source = rules(), f"{home}n.md"
    candidates = [f"{folder}x.md" for folder in folders]
    alone = [
        candidate for candidate in candidates if door.resolve(link, "x.md", source, [candidate])
    ]
    found = Rulebook([((), door)]).resolve(link, "0:x.md", source, [candidates])
    assert found.choices == len(alone)
    assert found.path == door.resolve(link, "x.md", source, candidates)
    assert found.path is None if not alone else found.path in alone


def _filled(root: Path, folders: int, text: str) -> Path:
    notes = {f"d{number}/x.md": text.format(number) for number in range(folders)}
    return fill(root, {".obsidian/app.json": "{}", **notes})


@pytest.mark.parametrize("text", ["[[x]] " * 10, "[[d{0}/x]] " * 10])
def test_a_name_of_many_files_takes_little_longer_for_each(tmp_path: Path, text: str) -> None:
    synced(_filled(tmp_path / "first", 5, text))  # what only the first run has to load
    roots = {folders: _filled(tmp_path / str(folders), folders, text) for folders in (50, 400)}
    assert is_linear(lambda folders: synced(roots[folders], rebuild=True), *roots)
