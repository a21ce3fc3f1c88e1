"""Links as Obsidian finds and resolves them (R-LINK), unlinked mentions by the rules of both editors (R-MENTION, R-LS-20),
and references to blocks of a Logseq graph."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cli_run import ran
from tests.conftest import fill
from tests.effort import is_linear, takes_less
from tests.index_dump import synced
from tests.laws import examples
from tests.obsidian_notes import note, rules
from vaultmem import Vault
from vaultmem.api.tool import Call
from vaultmem.api.toolbox import Toolbox
from vaultmem.memories.access import PERSON, viewer
from vaultmem.notes.dialects import (
    MENTION_EDGES,
    Rulebook,
    folded,
    folded_names,
    mention_pattern,
    spans_of_mentions,
)
from vaultmem.search import snippet
from vaultmem.vault import files


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
def test_a_link_has_a_choice_per_file_it_may_mean(link: str, home: str, folders: list[str]) -> None:
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


def test_thousands_of_aliases_are_looked_for_like_one() -> None:
    """2,700 aliases and a megabyte of notes; also if one name begins like all others."""
    many = [*(f"Alias {number}" for number in range(2_700)), "Al", "Alias"]
    many += ["a" * n for n in range(1, 250)]
    text = "Alias said, but Alias 270 and alias 2699 did not; aaa\n" * 20_000
    for style in MENTION_EDGES:
        pattern = mention_pattern(style, many)
        assert pattern
        counts: list[int] = []
        assert takes_less(
            2.0, lambda: counts.append(sum(1 for _ in spans_of_mentions(pattern, text, [])))  # noqa: B023 - called here
        )  # fmt: skip
        assert counts[0] == 4 * 20_000
        whole = [each[0] for each in pattern.finditer("Alias 2699, alias 27000")]
        assert whole == ["Alias 2699", "alias"]


def test_every_letter_that_a_mention_may_have_is_found_in_folded_text() -> None:
    letters = [c for c in map(chr, range(sys.maxunicode + 1)) if len({c, c.lower(), c.upper(), c.casefold()}) > 1]  # fmt: skip
    odd = [c for c in letters if len({c, c.lower(), c.upper(), c.casefold()}) > 2 or len(c.upper()) > 1]  # fmt: skip
    text = "\n".join(letters)
    for letter in [*odd, *letters[::10]]:
        pattern, rough = mention_pattern("latin", [letter]), folded_names([letter])
        assert pattern
        for match in pattern.finditer(text):
            assert rough.search(folded(match[0])), (letter, match[0])


def test_only_notes_with_the_letters_of_a_name_are_searched_for_mentions(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "Café Luna.md").write_text("aliases")
    for number in range(20):
        text = "At CAFE\u0301 LUNA." if number < 2 else "Luna, a café"
        (vault / f"note {number}.md").write_text(text)
    searched = []

    class Counting:
        def __init__(self, pattern: re.Pattern[str]) -> None:
            self._pattern = pattern

        def search(self, text: str) -> object:
            searched.append(text)
            return self._pattern.search(text)

        def finditer(self, *where: object) -> object:
            return self._pattern.finditer(*where)  # type: ignore[call-overload]

    real = Rulebook.mention_pattern
    monkeypatch.setattr(Rulebook, "mention_pattern", lambda *of: Counting(real(*of)))  # type: ignore[arg-type]
    with Vault(str(vault)) as opened:
        opened.sync()
        monkeypatch.delattr(files, "open_inside")  # opens all folders of a path for one file
        mentions = opened.mentions("Café Luna")
    assert [mention.path for mention in mentions] == ["note 0.md", "note 1.md"]
    assert len(searched) == 2


def mentions_in(style: str, name: str, text: str) -> list[str]:
    pattern = mention_pattern(style, [name])
    assert pattern
    return [text[slice(*span)] for span in spans_of_mentions(pattern, text, [])]


@pytest.mark.parametrize(
    ("style", "name", "text", "count"),
    [
        ("words", "Red Panda", "a red panda. RED PANDA!", 2), ("words", "Red Panda", "red pandas, predred panda", 0),
        ("words", "rust", "我用rust语言 rust_lang", 2), ("words", "rust", "trust rust2 rusté", 0), ("words", "кот", "котлета кот", 1),
        ("words", "小熊猫", "动物园里的小熊猫很可爱", 1), ("words", "학교", "우리학교에서", 1), ("words", "C++", "use C++, not C", 1),
        ("words", "Café", "cafe\u0301 CAFÉ", 2), ("words", "a.b", "axb a.b", 1),
        ("latin", "Rust", "I like rust.", 1), ("latin", "Rust", "trust rust2", 0), ("latin", "Rust", "#rust [rust", 0),
        ("latin", "铁锈", "这是铁锈的颜色", 1), ("latin", "铁锈", "铁锈2", 0),
    ],
)  # fmt: skip
def test_a_mention_is_a_word_of_its_editor(style: str, name: str, text: str, count: int) -> None:
    assert len(mentions_in(style, name, text)) == count


def test_links_what_they_show_and_what_stands_before_the_body_are_left_out() -> None:
    text = "[[Rust]] [[B|rust]] rust"
    pattern = mention_pattern("words", ["Rust"])
    assert pattern
    assert list(spans_of_mentions(pattern, text, [(-1, -1), (9, 19), (0, 8)])) == [(20, 24)]
    assert list(spans_of_mentions(pattern, text, [], start=19)) == [(20, 24)]


ONE, SAFE, LOOP, BACK, ORG, GONE, HIGH = (
    f"{n}1110543-a71f-458d-b42e-b78a4d22f0c0" for n in "6789abc"
)
PAGES = {
    "logseq/config.edn": "{}",
    "pages/Garden.md": f"- Beds\n\t- TODO The **tomatoes** need water\n\t  id:: {ONE}\n\t  every two days\n\t\t- from the barrel\n",
    "pages/Safe.md": f"private:: true\n\n- The code is 8812\n  id:: {SAFE}\n",
    "pages/Loop.md": f"- round (({BACK}))\n  id:: {LOOP}\n- back (({LOOP}))\n  id:: {BACK}\n",
    "pages/Old.org": f"* Some heading\n* The org block\n:PROPERTIES:\n:id: {ORG}\n:END:\n* Next\n:PROPERTIES:\n:ID: {HIGH}\n:END:\n",
}
SHOWN = "TODO The **tomatoes** need water every two days"


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Vault]:
    with Vault(str(fill(tmp_path, PAGES))) as opened:
        yield opened


def shown(graph: Vault, text: str, **options: str) -> tuple[str, str]:
    """What a search and a recall show for a block with this text."""
    Path(graph.path, "pages/Plan.md").write_text(f"- zebra {text}\n", encoding="utf-8")
    graph.sync()
    (hit,) = graph.search("zebra", **options)
    (known,) = graph.recall("zebra plan", **options)["memories"]
    return hit.content.removeprefix("- zebra "), str(known["content"]).removeprefix("- zebra ")


def test_a_note_that_is_read_as_a_whole_is_shown_so_too(graph: Vault) -> None:
    text = f"- see (({ONE})), (({SAFE}))\n  id:: {GONE}\n"
    Path(graph.path, "pages/Plan.md").write_text(text, "utf-8")
    graph.sync()
    told = Toolbox(plain=True).call(graph, Call("memory_read", {"id": "Plan"}, "claude")).text
    assert f"- see {SHOWN}, (({SAFE}))" in told
    assert graph.ask("note", path="pages/Plan.md")["text"] == f"- see {SHOWN}, The code is 8812"
    id_ = graph.write(f"see (({ONE})), (({SAFE}))")["id"]
    told = Toolbox(plain=True).call(graph, Call("memory_read", {"id": id_}, "claude")).text
    assert f"see {SHOWN}, (({SAFE}))" in told
    answer = graph.ask("read", id=id_)
    assert answer["text"] == f"see {SHOWN}, The code is 8812"
    assert answer["content"] == f"see (({ONE})), (({SAFE}))", "to be edited as it is"
    assert (
        f"see {SHOWN}, The code" in ran("read", id_, "--format", "text", "--vault", graph.path).out
    )


def test_a_reference_is_shown_as_the_text_of_its_block(graph: Vault) -> None:
    for text, expected in (
        (f"(({ONE})) (({ONE.upper()}))", f"{SHOWN} {SHOWN}"), (f"{{{{embed (({ONE})) }}}}!", f"{SHOWN}!"),
        (f"[the beds]((({ONE})))", "the beds"), (f"(({GONE})) ({ONE})", f"(({GONE})) ({ONE})"),
        (f"(({ORG})) (({HIGH}))", "The org block Next"), (f"(({LOOP}))", f"round back (({LOOP}))"),
    ):  # fmt: skip
        assert shown(graph, text) == (expected, expected)


def test_a_block_of_a_private_note_is_shown_to_nobody_else(graph: Vault) -> None:
    reference = f"(({SAFE}))"
    assert shown(graph, reference) == ("The code is 8812",) * 2
    assert shown(graph, reference, by="claude") == (reference,) * 2
    page = Path(graph.path, "pages/Garden.md")  # it has just become private, unknown to the index
    page.write_text(f"private:: true\n\n{page.read_text('utf-8')}", "utf-8")
    searcher = graph.searcher()
    assert searcher.with_references(f"(({ONE}))", viewer("claude", [])) == f"(({ONE}))"
    assert searcher.with_references(f"(({ONE}))", PERSON) == SHOWN


def test_what_stands_above_a_block_is_shown_by_its_text_too(graph: Vault) -> None:
    below = "".join(f"\t- {'many words ' * 20}{number}\n" for number in range(9))
    Path(graph.path, "pages/Plan.md").write_text(f"- (({ONE}))\n{below}\t- zebra\n", "utf-8")
    graph.sync()
    (hit,) = graph.search("zebra", by="claude")
    assert hit.headings == [SHOWN]


def test_a_block_that_changes_after_the_index_was_made_is_shown_as_it_is(graph: Vault) -> None:
    graph.sync()
    Path(graph.path, "pages/Garden.md").write_text(f"- new\n- moved\n  id:: {ONE}", "utf-8")
    assert graph.searcher().with_references(f"(({ONE}))", PERSON) == "moved"


def test_many_references_take_no_long_time(graph: Vault) -> None:
    graph.sync()
    searcher = graph.searcher()

    def read(size: int) -> object:
        return snippet.with_referenced_texts(searcher, f"(({GONE})) {{{{embed ((" * size, PERSON)

    assert is_linear(read, 200, 1_600)
