"""Whole pages: references, properties, aliases, titles (R-LS-3 to R-LS-10, R-LS-17 to 21)."""

import pytest

from tests.stand_in_files import Files
from vaultmem.adapter import FrontMatter, Note
from vaultmem.notes.frontmatter import split
from vaultmem.notes.places import editor_uri
from vaultmem_logseq import dialect
from vaultmem_logseq.config_edn import Settings
from vaultmem_logseq.graph_rules import LogseqRules

ID = "64a0b1c2-0000-4000-8000-000000000001"
RULES = LogseqRules(Settings(triple_lowbar=True))


def read(text: str, path: str = "pages/p.md", rules: LogseqRules = RULES) -> Note:
    return rules.parse(path, text, split(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [[A]] #b #[[C d]] [l]([[E]]) {{embed [[F]]}}", ["A", "b", "C d", "E", "F"]),
        ("- [[A|b]] [[A#h]] [x](other.md) [y](http://a/b.md) ![p](../assets/p.png)", ["A|b", "A#h", "x"]),
        ("- #1984 词#粘连 #a.b. #c, #d! (#e x) a##f \\#no \\[[no]]", ["1984", "粘连", "a.b", "c", "d", "e", "f"]),
        ("- [[a [[b]] c]] [[x [[y [[z]] ]] ]]", ["a [[b]] c", "b", "x [[y [[z]] ]]", "y [[z]]", "z"]),
        ("- [[Sq]uare]] [[ ]] [[]] [[x\n  y]] [[a/b/c]]", ["Sq]uare", "a/b/c"]),
        ("- `[[no]]` $$[[no]]$$ <!-- [[no]] --> %% [[yes]] %%", ["yes"]),
        ("- x\n  ```\n  [[no]] #no\n  ```\n  [[yes]]", ["yes"]),
        ("- x\n  ~~~\n  [[yes]]\n- #too", ["yes", "too"]),
        ("- x\n  :logbook:\n  [[no]]\n  :end:\n  [[yes]]", ["yes"]),
        ("- {{query (and [[no]] #no)}} {{video https://x/[[no]]}}", []),
        ("- x\n  #+BEGIN_QUERY\n  [[no]]\n  #+END_QUERY\n  #+BEGIN_TIP\n  [[yes]]\n  #+END_TIP", ["yes"]),
        ('- http://x/#no <http://x/#no> [l](http://x/#no) **#no** <b class="#no">', []),
        (f"- ((nope)) (({ID})) {{{{embed (({ID}))}}}} [l]((({ID})))", [ID, ID, ID]),
        ("- [[BUG] x #1230](https://a.b/issues/1230) #real", ["real"]),
        ("- [a [b] #c](x.pdf), [[D] e](f.md) [[G]](h)", ["[D] e", "G"]),
    ],
)  # fmt: skip
def test_references(text: str, expected: list[str]) -> None:
    assert [link.path for link in read(text).links] == expected


def test_links_say_what_and_where_they_are() -> None:
    text = f"k:: [[O]]\n\n- a #T\n  [la]([[Q]])\n- (({ID.upper()})) {{{{embed [[E]]}}}}"
    links = read(text).links
    assert [(link.kind, link.key, link.line, link.display) for link in links] == [
        ("property", "o", 1, None), ("tag", "t", 3, None), ("markdown", "q", 4, "la"), ("block", f"(({ID}))", 5, None),
        ("embed", "e", 5, None),
    ]  # fmt: skip
    spelled = [text[link.start : link.end] for link in links[1:]]
    assert spelled == ["#T", "[la]([[Q]])", f"(({ID.upper()}))", "{{embed [[E]]}}"]
    assert links[0].start == -1


def test_page_properties() -> None:
    note = read(
        'tags:: #fun, 中文，[[two, words]], fun\nAlias_:: x\nauthor:: "[[No]]"\nyear:: 007\n'
        "done:: false\nseen:: [[A]] and #b\nurl:: http://x/#y\nempty::\nlong:: "
        + "9" * 30
        + "\n- k:: v\n"
    )
    assert note.properties == {
        "tags": ["fun", "中文", "two, words"], "alias-": "x", "author": '"[[No]]"', "year": 7, "done": False, "seen": ["A", "b"],
        "url": "http://x/#y", "long": "9" * 30,
    }  # fmt: skip
    assert note.tags == ("fun", "中文", "two, words")
    assert [link.path for link in note.links] == ["fun", "中文", "two, words", "A", "b"]


def test_properties_count_for_the_page_only_at_its_top() -> None:
    assert read("text\ntitle:: X\n- a").title == "p"
    assert read("- title:: X\n- a").title == "p"
    assert read("\ntitle:: X\n\nother:: 1\ntext\nlate:: 2\n").properties == {
        "title": "X",
        "other": 1,
    }
    assert [link.path for link in read("- a\n  source:: [[G]]\n  id:: [[no]]").links] == ["G"]


def test_aliases_split_at_both_commas_and_are_no_links() -> None:
    note = read(
        "title:: Real\nalias:: AI, [[人工智能]]，[[a, b]], real, ai\n\n- [[AI]] [[Real]] [[b]]"
    )
    assert note.title == "Real"
    assert note.aliases == ("AI", "人工智能", "a, b")
    assert [link.path for link in note.links] == ["Real", "b"]


def test_yaml_at_the_top() -> None:
    note = read(
        "---\ntitle: A b\nalias: x, y\ntags:\n  - one\n  - '[[two]]'\n"
        'see: "[[No]]"\nto: to [[C]]\n---\n\n- a'
    )
    assert note.title == "A b"
    assert note.aliases == ("x", "y")
    assert note.tags == ("one", "two")
    assert [(link.path, link.line) for link in note.links] == [("one", 4), ("two", 4), ("C", 8)]
    assert [piece.line for piece in note.pieces] == [11]
    assert read("---\ntags: [x, y]\n---\n").tags == ("x", "y")


def test_yaml_that_cannot_be_read_is_read_by_line_as_logseq_does() -> None:
    text = '---\ntitle: A: b\nalias: "q"\n---\n- [[x]]'
    note = RULES.parse("pages/p.md", text, FrontMatter({}, "bad", text.index("- [[")))
    assert note.title == "A: b"
    assert note.aliases == ("q",)
    assert note.frontmatter_error == "bad"
    assert [link.line for link in note.links] == [5]


def test_journals() -> None:
    settings = Settings(title_format="EEEE, dd.MM.yyyy", file_format="dd-MM-yyyy")
    rules = LogseqRules(settings)
    assert read("- x", "journals/2026_11_21.md").title == "Nov 21st, 2026"
    assert read("- x", "other/2026-11-21.md").journal == "2026-11-21"
    custom = read("- [[2026-11-21]]", "journals/21-11-2026.md", rules)
    assert (custom.title, custom.journal) == ("Saturday, 21.11.2026", "2026-11-21")
    assert custom.links[0].key in rules.names("journals/21-11-2026.md", custom)
    assert read("- x", "pages/21-11-2026.md", rules).journal is None
    titled = read("title:: My day\n- x", "journals/2026_11_21.md")
    assert (titled.title, titled.journal) == ("My day", None)


def test_a_property_of_a_task_names_a_journal_as_its_day() -> None:
    (task,) = read("- TODO x\n  due:: [[Nov 25th, 2026]] 08:35\n").tasks
    assert (task.text, task.due) == ("x", "2026-11-25T08:35")
    assert read("due:: 2026-11-25\n\n- x").tasks == ()


def test_org() -> None:
    text = (
        "#+title: Org page\n#+alias: o\nintro\n* TODO [#A] Head [[file:x.org][Label]] :t:\n"
        f"SCHEDULED: <2026-11-21 Sat>\n"
        f":PROPERTIES:\n:id: {ID}\n:due: 2026-11-25\n:END:\n** =[[no]]= [[Plain][shown]]\n"
        "#+BEGIN_SRC\n* no [[no]]\n#+END_SRC\n[[https://x][no]] #tag\n"
    )
    note = read(text, "pages/x.org")
    assert (note.title, note.aliases) == ("Org page", ("o",))
    assert [link.path for link in note.links] == ["Label", "Plain", "tag"]
    (task,) = note.tasks
    assert (task.line, task.marker, task.priority, task.scheduled) == (4, "TODO", "A", "2026-11-21")
    assert task.due == "2026-11-25"
    assert note.anchors == {ID: 4}
    assert [piece.line for piece in note.pieces] == [3, 4, 10]


def test_which_files_are_pages() -> None:
    rules = LogseqRules(Settings(hidden=("archived",)))
    for path in ("pages/a.md", "loose.MARKDOWN", "logseq/notes.md", "pages/x.org", "pages/my node_modules/b.md"):  # fmt: skip
        assert rules.kind(path) == "note", path
    for path in ("logseq/bak/a.md", "a/node_modules/b.md", "pages/.hid.md", "archived/a.md", "whiteboards/w.edn"):  # fmt: skip
        assert rules.kind(path) == "", path


def test_resolve_prefers_the_file_of_that_name_then_the_order() -> None:
    assert RULES.resolve("x", "x", "s.md", ["pages/b.md", "z/X.md"]) == "z/X.md"
    assert RULES.resolve("x", "x", "s.md", ["z/x.md", "a/x.md", "pages/x.md"]) == "pages/x.md"
    assert RULES.resolve("x", "x", "s.md", []) is None


def test_dialect_and_uri() -> None:
    graph = Files({"logseq/config.edn": b"{:file/name-format :triple-lowbar}"})
    other = Files({".obsidian/app.json": b""})
    assert (dialect.claims(graph), dialect.claims(other)) == (2, 0)
    lowbar, legacy = dialect.open(graph), dialect.open(other)
    assert lowbar.fingerprint != legacy.fingerprint
    assert legacy.parse("pages/a.b.md", "", FrontMatter({}, None, 0)).title == "a/b"
    text = f"id:: {ID}\n- x"
    mirrored = legacy.parse("mirror/markdown/pages/a.b.md", text, FrontMatter({}, None, 0))
    assert (mirrored.title, mirrored.anchors) == ("a.b", {ID: 1})
    uri = editor_uri(lowbar.uri_template, "/home/me/My graph/", "p", "a/b c?")
    assert uri == "logseq://graph/My%20graph?page=a%2Fb%20c%3F"
