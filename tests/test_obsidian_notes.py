"""What else Obsidian reads: files, tags, aliases, headings, block ids, days, pieces, speakers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from tests.obsidian_notes import note, rules


@pytest.mark.parametrize(
    "path", ["a.md", "b/C.MD", "x.excalidraw.md", "a~b.md", "md.md", "a.tmp.md"]
)
def test_notes(path: str) -> None:
    assert rules().kind(path) == "note"


@pytest.mark.parametrize(
    "path",
    [
        ".a.md", ".git/a.md", "a/.b/c.md", "a.md~", ".#a.md", "a.md.swp", ".syncthing.a.md.tmp",
        "~syncthing~a.md.tmp", "a.tmp", "a.txt", "README", "node_modules/a.md", "b/node_modules/c/d.md",
    ],
)  # fmt: skip
def test_what_is_not_seen(path: str) -> None:
    assert rules().kind(path) == ""


@pytest.mark.parametrize(
    ("expression", "hidden", "shown"),
    [
        (r"/^Archive\//", "Archive/a.md", "b/Archive/a.md"),
        (r"/\.excalidraw\.md$/", "d/x.excalidraw.md", "d/x.md"),
        ("/draft|old/", "an old note.md", "Old.md"),
        ("/^.*secret.*$/", "a/secret b.md", "a/public.md"),
        (r"/^(?<area>Work|Home)\/[^/]+\/.*\.md$/", "Work/a/b.md", "Work/a.md"),
        (r"/\d{4}-\d{2}-\d{2}/", "log/2026-11-21.md", "log/2026-11.md"),
        (r"/[(+*[]{2}.+b/", "a(+cb.md", "a(b.md"),
        (r"/.*\.(png|jpe?g|gif|svg|webp)$/", "a/b.gif", "a/b.gif.md"),
        ("/x.*|.*old/", "an old note", "a/b.md"),
        ("/(?:ab|cd)c?.md/", "xcdc.md", "ba.md"),
        ("/{{.+}}|a]b/", "Templates/{{date}}.md", "a].md"),
    ],
)
def test_expressions_that_people_write(expression: str, hidden: str, shown: str) -> None:
    door = rules({".obsidian/app.json": {"userIgnoreFilters": [expression]}})
    assert (door.excluded(hidden), door.excluded(shown)) == (True, False)


HOSTILE = [
    "/(a+)+$/",
    "/(?:a|a)*$/",
    "/(?:a{1,9}){1,99999}$/",
    "/((a)|b)+$/",
    "/a*a*a*a*$/",
    "/" + "a?" * 60 + "a" * 60 + "/",
    "/" + "(a|a)" * 30 + "b/",
    "/" + "a{0,99}" * 5 + "b/",
    "/" + "a{,99}" * 5 + "b/",
    "/(){99999}()b/",
    "/" + "(" * 30 + "){7}" * 30 + "/",
    "/a*" + "a" * 190 + "b/",
    r"/(a*)\1b/",
    "/(?=a*a*)b/",
    "/(?!a)a/",
    "/(?<=a)a/",
    "/(?i)a/",
    "/a*+a/",
    "/[](a+)+]?$/",
    "/[]]a/",
    "/" + "a" * 201 + "/",
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_expressions_that_may_never_end_are_not_used(expression: str) -> None:
    door = rules({".obsidian/app.json": {"userIgnoreFilters": [expression]}})
    assert door.settings.ignored_patterns == ()
    assert not door.excluded("a" * 3000)


@given(st.text(alphabet="ab.*+?{}09,()[]|^$\\:<!=", min_size=1, max_size=60))
def test_any_expression_answers_soon(source: str) -> None:
    door = rules({".obsidian/app.json": {"userIgnoreFilters": [f"/{source}/"]}})
    assert takes_less(0.5, lambda: (door.excluded("a" * 3000), door.excluded("ab" * 1500)))


@pytest.mark.parametrize(
    "broken", [b"", b"{", b"[]", b"\xff", b'{"userIgnoreFilters": 1}', b"[" * 9999]
)
def test_unreadable_settings_are_the_defaults(broken: bytes) -> None:
    files = {".obsidian/app.json": broken, ".obsidian/daily-notes.json": broken}
    assert rules(files).fingerprint == rules().fingerprint
    assert not rules(files).excluded("a.md")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a #A #b/c", ["a", "b/c"]),
        ("#1984 #123a #2026-11 #1984/", ["123a", "2026-11"]),
        ("#one#two #x/y/ #-", ["one", "x/y", "-"]),
        ("#a\u2014b #中文，好 a　#全", ["a", "中文，好", "全"]),
        ("[[B #no]] [a #no](b.md) [a #no](https://x) <i title= #no>", []),
        ("`#no` $#no$ <!-- #no --> %% #yes %%", ["yes"]),
        ("| #cell |\n# Heading #h\n- [ ] #task", ["cell", "h", "task"]),
        ("---\nTag: '#p, q'\ntags: [r, 2024, null, '#s/']\n---\n#P", ["p", "q", "r", "s"]),
        ("---\ntags: [[x]]\n---\n", ["x"]),
        ("---\ntags: a: b\n---\n#body", ["body"]),
    ],
)
def test_tags(text: str, tags: list[str]) -> None:
    assert list(note(text).tags) == tags


@pytest.mark.parametrize(
    ("value", "aliases"),
    [
        ("aliases: [a, b c, 7, true, null, '']", ["a", "b c", "7", "true"]),
        ("alias: x, y", ["x", "y"]),
        ("ALIASES:\n  - 'a, b'\n  - a, c", ["a, b", "a, c"]),
        ("aliases: 2026", ["2026"]),
        ("aliases:", []),
        ("aliases: {a: b}", []),
    ],
)
def test_aliases(value: str, aliases: list[str]) -> None:
    assert list(note(f"---\n{value}\n---\n").aliases) == aliases


def test_headings_and_block_ids() -> None:
    text = (
        "# A #\n#b\n####### no\nc ^id-1\n```\n# no ^no\n```\n"
        "Set\n===\n## \n- d\n\n^last\na^no x ^n_o\n"
    )
    seen = note(text)
    assert [(h.level, h.text, h.line) for h in seen.headings] == [
        (1, "A", 1),
        (1, "Set", 8),
        (2, "", 10),
    ]
    assert seen.anchors == {"id-1": 4, "last": 13}


@pytest.mark.parametrize(
    ("path", "settings", "day"),
    [
        ("2026-11-21.md", None, "2026-11-21"),
        ("x/2026-11-21.md", None, "2026-11-21"),
        ("2026-02-30.md", None, None),
        ("2026-11-21 talk.md", None, None),
        ("J/21.11.2026.md", {"format": "DD.MM.YYYY", "folder": "J"}, "2026-11-21"),
        ("K/21.11.2026.md", {"format": "DD.MM.YYYY", "folder": "J"}, None),
        ("J/2026/11/21 Sat.md", {"format": "YYYY/MM/DD ddd", "folder": "/J/"}, "2026-11-21"),
        ("Nov 3rd, 2026.md", {"format": "MMM Do, YYYY"}, "2026-11-03"),
        ("Day 2026年11月3日.md", {"format": "[Day] YYYY年M月D日"}, "2026-11-03"),
        ("32.12.2026.md", {"format": "DD.MM.YYYY"}, None),
        ("47.md", {"format": "ww"}, None),
        ("11-21.md", {"format": "MM-DD"}, None),
    ],
)
def test_daily_notes(path: str, settings: dict[str, str] | None, day: str | None) -> None:
    files = {".obsidian/daily-notes.json": settings} if settings else {}
    assert note("x", path, files).journal == day


def pieces(text: str, path: str = "n.md") -> list[tuple[str, int, int, str]]:
    return [(p.kind, p.line, p.end_line, p.text) for p in note(text, path).pieces]


def test_pieces() -> None:
    text = (
        "---\na: b\n---\nintro ^id\nmore\n\n# One\n\n- a\n  - b\n\n  c\n- d\n\n"
        "text\n\n| x |\n| - |\n| y |\n"
        "```py\n# no\n\nz\n```\n> [!tip] **Hi**\n> <!-- there -->\n\n---\n"
    )
    assert pieces(text) == [
        ("text", 4, 5, "intro\nmore"),
        ("heading", 7, 7, "One"),
        ("list", 9, 13, "- a\n  - b\n\n  c\n- d"),
        ("text", 15, 15, "text"),
        ("table", 17, 19, "| x |\n| y |"),
        ("code", 20, 24, "```py\n# no\n\nz\n```"),
        ("text", 25, 26, "Hi\n there"),
    ]
    assert {p.headings for p in note(text).pieces[2:]} == {("One",)}


def test_who_speaks() -> None:
    talk = note("**Anne:** hi\n**Bob**: ho\nmore\n\n- **Anne：** x\n> 10:30 **Bob:** y")
    assert [piece.label for piece in talk.pieces] == ["Anne", "Bob"] * 2
    assert [p.text for p in note("**Anne:** hi").pieces] == ["Anne: hi"]


@given(
    st.lists(st.sampled_from(["word", "- item", "  - sub", "> quote", "| a |", "# h", "", "1. x"]))
)
def test_every_word_is_in_one_piece(lines: list[str]) -> None:
    found = [n for p in note("\n".join(lines)).pieces for n in range(p.line, p.end_line + 1)]
    wanted = [n for n, line in enumerate(lines, start=1) if line]
    assert [n for n in found if n in set(wanted)] == wanted


def test_code_in_a_list_stays_in_its_item() -> None:
    assert pieces("- a\n  ```\n  b\n\n  c\n  ```\n- d") == [
        ("list", 1, 7, "- a\n  ```\n  b\n\n  c\n  ```\n- d")
    ]
