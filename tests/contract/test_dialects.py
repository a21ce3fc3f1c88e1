"""The promises of every dialect (vaultmem.adapter), checked for each installed one."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import takes_less
from tests.laws import examples
from tests.stand_in_files import Files
from vaultmem.adapter import Dialect, Note, Rules, Value
from vaultmem.notes import frontmatter, pages, places
from vaultmem.notes.dialects import MENTION_EDGES, Rulebook, installed
from vaultmem.vault.files import decode

DIALECTS = {dialect.name: dialect for dialect in installed()}
# A settings file that a dialect of ours reads, and something in it that readers of notes must respect.
SETTINGS = {
    "obsidian": (".obsidian/app.json", b'{"userIgnoreFilters": ["Secret/"]}'),
    "logseq": ("logseq/config.edn", b'{:hidden ["/secret"]}'),
}
MARKUP = [
    *["[[", "]]", "![[", "[", "](", ")", "|", "#", "^", "((", "))", "{{", "}}", "{{embed "],
    *["`", "```", "~~~", "$", "$$", "%%", "<!--", "-->", "**", "\\", "<", ">"],
    *["\n", "\n\n", "\n---\n", "---\n", "\n- ", "\n\t- ", "\n  ", "\n> ", "\n# ", "\n## ", "\n1. ", "\n* "],
    *["\n- [ ] ", "\n- [x] ", "TODO ", "DONE ", "SCHEDULED: <2026-11-21 Sat>", "📅 2026-11-21", "(@2026-11-21 9:00)"],
    *["key:: ", "tags: [a, b]\n", "aliases: x\n", "id:: 64f0c1de-7a35-4c62-9b1f-0a2f6f1c5d11\n", ":LOGBOOK:", ":END:"],
    *["Note", "note.md", "Folder/Note", "../", "./", "Ünï", "笔记", "ΟΔΟΣ", "e\u0301", "\u00a0", " ", "a", "1"],
    *["[[Note]]", "[[note.md|x]]", "[t](Folder/Note.md)", "![[pic.png]]", "#tag", "alias:: Other, [[Two]]\n"],
    *["#+BEGIN_SRC\n", "#+END_SRC\n", ":PROPERTIES:\n", "{{embed ", "\u2028", "\0", "\ud800"],
    *["Anne:", "**Anne:** ", "((64f0c1de-7a35-4c62-9b1f-0a2f6f1c5d11))"],
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(MARKUP) | st.text(max_size=4), max_size=40).map(
    lambda parts: "".join(parts).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
)
PATHS = ("Note.md", "a/b/Note.md", "pages/Note.md", "journals/2026_11_21.md", "pages/x.org")
HIDDEN = (
    ".trash/a.md", ".obsidian/a.md", "a/.git/b.md", ".a.md", "a/.b.md", "node_modules/x/readme.md",
)  # fmt: skip

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
ours = pytest.mark.parametrize(
    "dialect", [DIALECTS[name] for name in SETTINGS], ids=SETTINGS.keys()
)


def opened(dialect: Dialect, files: dict[str, bytes] | None = None) -> Rules:
    return dialect.open(Files(files))


def parsed(rules: Rules, path: str, text: str) -> Note:
    return rules.parse(path, text, frontmatter.split(text))


def test_both_editors_are_there_and_tested() -> None:
    assert SETTINGS.keys() <= DIALECTS.keys()


def test_somebody_reads_a_folder_that_no_editor_has_opened() -> None:
    claims = [dialect.claims(Files()) for dialect in DIALECTS.values()]
    assert max(claims) == 1


@ours
def test_an_editors_own_folder_is_claimed(dialect: Dialect) -> None:
    path, content = SETTINGS[dialect.name]
    assert dialect.claims(Files({path: content})) == 2
    assert dialect.claims(Files()) < 2


@every_dialect
def test_rules_name_their_dialect_and_a_known_way_to_find_mentions(dialect: Dialect) -> None:
    rules = opened(dialect)
    assert rules.dialect == dialect.name
    assert rules.mention_style in MENTION_EDGES


@every_dialect
def test_what_is_written_in_the_style_of_a_dialect_is_read_by_it(dialect: Dialect) -> None:
    rules = opened(dialect)
    properties: dict[str, Value] = {
        "id": "4f3c",
        "phase": "inbox",
        "tags": ["Tea", "a b"],
        "importance": 3,
        "compressed": True,
    }
    content = "Tea at *four*, see [[Ann]].\n\n- green\n- black\n  - Assam"
    data = pages.compose(rules.page_style, properties, content)
    note = parsed(rules, "vaultmem/inbox/Tea.md", decode(data)[0])
    assert note.frontmatter_error is None
    assert note.title == "Tea"
    assert note.properties == properties
    assert [link.path for link in note.links if link.kind == "wikilink"] == ["Ann"]
    pieces = "\n".join(piece.text for piece in note.pieces)
    assert all(word in pieces for word in ("Tea at", "green", "black", "Assam"))
    assert "phase" not in pieces


def test_a_rulebook_writes_each_folder_in_the_style_of_its_editor() -> None:
    chosen = sorted(DIALECTS.values(), key=lambda dialect: (not dialect.home, dialect.name))
    book = Rulebook([(dialect.home, opened(dialect)) for dialect in chosen])
    assert book.page_style("pages/vaultmem/inbox/Tea.md") == "outline"
    assert book.page_style("vaultmem/inbox/Tea.md") == "frontmatter"


@ours
def test_settings_change_the_fingerprint_and_nothing_else_does(dialect: Dialect) -> None:
    path, content = SETTINGS[dialect.name]
    plain = opened(dialect).fingerprint
    assert plain == opened(dialect).fingerprint == opened(dialect, {"Note.md": b"text"}).fingerprint
    changed = opened(dialect, {path: content}).fingerprint
    assert changed == opened(dialect, {path: content}).fingerprint != plain


@every_dialect
@given(content=st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-8", "replace")))
@example(content=b"{" * 5000)
@example(content=b"[" * 5000)
@example(content=b'{"userIgnoreFilters": ["/(a+)+$/", 3, null], "showUnsupportedFiles": "x"}')
@settings(max_examples=examples(40))
def test_unreadable_settings_give_rules_all_the_same(dialect: Dialect, content: bytes) -> None:
    # the paths of other dialects are unknown
    path, _ = SETTINGS.get(dialect.name, ("settings", b""))
    assert parsed(opened(dialect, {path: content}), "pages/Note.md", "[[Other]]").links


@every_dialect
def test_what_editors_hide_is_invisible(dialect: Dialect) -> None:
    rules = opened(dialect)
    assert {path: rules.kind(path) for path in HIDDEN} == dict.fromkeys(HIDDEN, "")
    assert rules.kind("Note.md") == rules.kind("a/b.c/Ünï 笔记.MD") == "note"


@every_dialect
@given(path=st.text("aB./é笔 ", min_size=1, max_size=12) | st.sampled_from(PATHS))
def test_kind_is_one_of_three_and_paths_can_be_excluded_or_not(dialect: Dialect, path: str) -> None:
    rules = opened(dialect)
    assert rules.kind(path) in ("note", "file", "")
    assert rules.excluded(path) in (True, False)


@every_dialect
@given(path=st.sampled_from(PATHS), text=TEXTS)
@settings(max_examples=examples(150))
def test_any_text_is_read_and_all_places_lie_in_it(dialect: Dialect, path: str, text: str) -> None:
    note = parsed(opened(dialect), path, text)
    assert note == parsed(opened(dialect), path, text)
    last = text.count("\n") + 1
    before = 1
    for piece in note.pieces:
        assert before <= piece.line <= piece.end_line <= last
        before = piece.line
    lines = [
        *note.anchors.values(),
        *(heading.line for heading in (*note.headings, *note.tasks, *note.dates)),
    ]
    assert all(1 <= line <= last for line in lines)
    for link in note.links:
        assert 1 <= link.line <= last
        if link.start != -1:
            assert 0 <= link.start < link.end <= len(text)
            assert link.line == text.count("\n", 0, link.start) + 1
        else:
            assert link.end == -1


@every_dialect
@given(path=st.sampled_from(PATHS), text=TEXTS)
@example(
    path="pages/Note.md",
    text="alias:: Other, [[Two]]\n\n- [[Note]] and [[note.md]], [t](A/Note.md), ![[p.png]]",
)
@example(
    path="Note.md",
    text="---\naliases: [Other]\n---\n- a\n  id:: 64f0c1de-7a35-4c62-9b1f-0a2f6f1c5d11",
)
@settings(max_examples=examples(100))
def test_a_link_is_looked_at_again_when_a_name_it_looks_for_comes_or_goes(
    dialect: Dialect, path: str, text: str
) -> None:
    rules = opened(dialect)
    note = parsed(rules, path, text)
    keys = {link.key for link in note.links if link.key}
    for key in keys:
        for name in rules.lookups(key):
            assert key in rules.affected(name)
    names = rules.names(path, note)
    assert len(set(names)) == len(names) > 0
    for name in names:
        for key in rules.affected(name):
            assert not key or name in rules.lookups(key)


@given(path=st.sampled_from(PATHS), text=TEXTS)
@settings(max_examples=examples(50))
def test_a_rulebook_of_all_dialects_keeps_the_same_promise(path: str, text: str) -> None:
    chosen = sorted(DIALECTS.values(), key=lambda dialect: (not dialect.home, dialect.name))
    book = Rulebook([(dialect.home, opened(dialect)) for dialect in chosen])
    note = book.numbered(path, book.at(path).parse(path, text, frontmatter.split(text)))
    for link in note.links:
        if link.key:
            assert all(link.key in book.affected(name) for name in book.lookups(link.key))
    every = {str(number) for number in range(len(chosen))}
    assert {name.partition(":")[0] for name in book.names(path, note)} == every


@every_dialect
@given(name=st.text("abcXYZéß笔记", min_size=1, max_size=8))
def test_a_link_by_name_finds_the_note(dialect: Dialect, name: str) -> None:
    rules = opened(dialect)
    path = f"pages/{name}.md"
    link = parsed(rules, "Other.md", f"- see [[{name}]] there").links[0]
    names = rules.names(path, parsed(rules, path, "- text"))
    assert any(looked in names for looked in rules.lookups(link.key))
    assert rules.resolve(link.path, link.key, "Other.md", [path]) == path


FOLDERS = st.lists(
    st.sampled_from(["", "a/", "a/b/", "b/", "pages/", "A/", "c/d/e/"]), min_size=1, unique=True
)

WRITTEN = st.sampled_from(
    ["Note", "note", "a/Note", "/Note", "./Note", "../Note", "x/Note", "b/Note"]
)


@every_dialect
@given(folders=FOLDERS, source=st.sampled_from(PATHS), written=WRITTEN, data=st.data())
def test_a_choice_is_one_of_the_candidates_whatever_their_order(
    dialect: Dialect, folders: list[str], source: str, written: str, data: st.DataObject
) -> None:
    rules = opened(dialect)
    link = parsed(rules, source, f"- [[{written}]]").links[0]
    candidates = [f"{folder}Note.md" for folder in folders]
    target = rules.resolve(link.path, link.key, source, candidates)
    assert target is None or target in candidates
    shuffled = data.draw(st.permutations(candidates))
    assert rules.resolve(link.path, link.key, source, shuffled) == target
    assert rules.resolve(link.path, link.key, source, []) is None


@every_dialect
def test_the_editor_link_holds_up_with_any_name(dialect: Dialect) -> None:
    link = places.editor_uri(
        opened(dialect).uri_template, "/my notes/Tom & Jerry", "a b/c#d?e&笔.md", "c#d {x}"
    )
    assert re.match(r"[a-z][a-z0-9+.-]*:/", link)
    assert link.isascii()
    assert not set(' #{}<>"') & set(link)
    assert link.count("?") <= 1


HOSTILE = [
    *["[", "[[", "[[a|", "[](", "`", "``", "$", "$a", "#", "((", "{{", "%%", "<!--", "*", "**a:", "^a "],
    *["> ", "|", "- ", "\n- ", "\n\t- ", "\n> ", "\n```", "\n- [ ] 📅 ", "a:: "],
    *["\na:: [[", " 🔁 every", "(@", "1. ", "\\"],
    *["{{embed ", "[[ [[a]] ", "#a **", "\nalias:: [[a, ", ":LOGBOOK:\n", "\n#+BEGIN_SRC", "- a\n  SCHEDULED: <", "#a http://x/#b"],
    *["![", "(", '](a "', "[![a](b)](c)", "|-", "<a", "    ", "> ```\n", "- [ ] [["],
]  # fmt: skip


@every_dialect
@pytest.mark.parametrize("part", HOSTILE)
def test_time_is_linear_in_the_text(dialect: Dialect, part: str) -> None:
    """20 kB of anything take a small fraction of a second; quadratic time would take seconds."""
    rules = opened(dialect)
    text = part * (20_000 // len(part))
    assert takes_less(0.3, lambda: parsed(rules, "pages/Note.md", text))
