"""Logseq pages: blocks with their tasks and dates (R-LS-11 to R-LS-14), titles and journal days (R-LS-1 to R-LS-3,
R-LS-16), and the settings of a graph."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.adapter import Task
from vaultmem_logseq.config_edn import from_config, read_edn
from vaultmem_logseq.names import DayFormat, JournalDays, title_from_path
from vaultmem_logseq.outline import Block, outline, pieces
from vaultmem_logseq.references import masks
from vaultmem_logseq.tasks import tasks

UUID = "61110543-a71f-458d-b42e-b78a4d22f0c0"


def read(text: str) -> list[Block]:
    return outline(text, masks(text).shape)


def tasks_of(text: str) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    return tasks(read(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n\t- b\n\t\t- c\n- d", [(1, "a"), (2, "b"), (3, "c"), (1, "d")]),
        ("- a\n    - b\n  - c\n- d", [(1, "a"), (2, "b"), (2, "c"), (1, "d")]),
        ("- a\n\t\t\t- far", [(1, "a"), (2, "far")]),
        ("- a\n  * star\n  + plus\n  1. one\n  - b", [(1, "a\n* star\n+ plus\n1. one"), (2, "b")]),
        (
            "- a\n  ```\n  - code\n    deeper\n  ```\n- b",
            [(1, "a\n```\n- code\n  deeper\n```"), (1, "b")],
        ),
        ("- open\n  ```\n- next", [(1, "open\n```"), (1, "next")]),
        (
            "- q\n  #+BEGIN_QUOTE\n  - in\n  #+END_QUOTE",
            [(1, "q\n#+BEGIN_QUOTE\n- in\n#+END_QUOTE")],
        ),
        ("intro\n\nmore\n- a", [(0, "intro\n\nmore"), (1, "a")]),
        (
            "# Head\ntext\n## Sub\n- a\n\t- ## b",
            [(1, "Head\ntext"), (1, "Sub"), (1, "a"), (2, "b")],
        ),
        ("-\n- \n-x\n-- y\n- - z", [(1, ""), (1, "-x\n-- y"), (1, "- z")]),
        ("#tag is text\n#", [(0, "#tag is text"), (1, "")]),
        ("- a\n  k:: v\n  b\n  Key_Two:: w", [(1, "a\nb")]),
        ("- k:: v\n  after", [(1, "after")]),
        ("- a\n  see k:: v\n  http://x::y", [(1, "a\nsee k:: v\nhttp://x::y")]),
        ("- a\n  :LOGBOOK:\n  CLOCK: [2026-11-20 Fri]\n  :END:\n  b", [(1, "a\nb")]),
        ("- a\n  :LOGBOOK:\n  no end\n- b", [(1, "a\n:LOGBOOK:\nno end"), (1, "b")]),
        ("- ### DONE [#C] z\n## TODO x", [(1, "z"), (1, "x")]),
    ],
)
def test_outline(text: str, expected: list[tuple[int, str]]) -> None:
    shape = [(block.level, block.text) for block in read(text)]
    assert [each for each in shape if each != (1, "")] == [
        each for each in expected if each != (1, "")
    ]


@pytest.mark.parametrize(
    "line",
    ["todo x", "TODO", "TODO ", "TODOx", "[ ] x", "**TODO** x", "x TODO y", "TODO: x", "1. TODO x"],
)
def test_no_task(line: str) -> None:
    assert tasks_of(f"- {line}\n- y") == ((), ())


@pytest.mark.parametrize(
    ("line", "status", "marker", "priority", "text"),
    [
        ("- TODO [#A] x", " ", "TODO", "A", "x"),
        ("\t- STARTED x", "/", "STARTED", None, "x"),
        ("- IN-PROGRESS [#D] x", "/", "IN-PROGRESS", None, "[#D] x"),
        ("## DONE x", "x", "DONE", None, "x"),
        ("- ## CANCELLED [#B] x", "-", "CANCELLED", "B", "x"),
        ("- TODO [#C]", " ", "TODO", "C", ""),
        ("- NOW x [#A]", "/", "NOW", None, "x [#A]"),
    ],
)
def test_markers(line: str, status: str, marker: str, priority: str | None, text: str) -> None:
    (task,), _ = tasks_of(line)
    assert (task.status, task.marker, task.priority, task.text) == (status, marker, priority, text)
    assert (task.done, task.cancelled) == (status == "x", status == "-")


@pytest.mark.parametrize(
    ("lines", "times"),
    [
        ("due:: 2026-11-25", ("2026-11-25", None, None)),
        ("due:: [[2026-11-25]]", ("2026-11-25", None, None)),
        ("due:: 2026-11-25 8:35", ("2026-11-25T08:35", None, None)),
        ("due:: [[2026-11-25]] 25:00", ("2026-11-25", None, None)),
        ("remind:: 2026-11-24 09:00\n  due:: 2026-11-25", ("2026-11-25", "2026-11-24T09:00", None)),
        ("date:: 2026-11-25", (None, None, "2026-11-25")),
        ("due:: 2026-11-25\n  DEADLINE: <2026-11-26 Thu>", ("2026-11-26", None, None)),
        ("due:: 2026-02-30", (None, None, None)),
        ("done:: 2026-11-25", (None, None, None)),
    ],
)
def test_times_in_properties(lines: str, times: tuple[str | None, ...]) -> None:
    (task,), dated = tasks_of(f"- TODO x\n  {lines}\n")
    assert (task.due, task.remind, task.scheduled) == times
    assert (task.text, dated) == ("x", ())


@pytest.mark.parametrize(
    ("line", "scheduled", "due", "repeater"),
    [
        ("SCHEDULED: <2026-11-21 Sat>", "2026-11-21", None, None),
        ("SCHEDULED: <2026-11-21 周六 9:05 .+2w>", "2026-11-21T09:05", None, ".+2w"),
        ("DEADLINE: <2026-11-21 Sat ++1y>", None, "2026-11-21", "++1y"),
        ("DEADLINE: <2026-11-21 Sat 24:61 +1d>", None, "2026-11-21", "+1d"),
        (
            "SCHEDULED: <2026-11-21 Sat> DEADLINE: <2026-11-22 Sun 10:00>",
            "2026-11-21",
            "2026-11-22T10:00",
            None,
        ),
        ("SCHEDULED: <2026-02-31 Tue>", None, None, None),
        ("text SCHEDULED: <2026-11-21 Sat>", None, None, None),
        ("text\n  SCHEDULED: <2026-11-21 Sat>", None, None, None),
        ("k:: v\n  SCHEDULED: <2026-11-21 Sat>", "2026-11-21", None, None),
        (":LOGBOOK:\n  :END:\n  SCHEDULED: <2026-11-21 Sat>", "2026-11-21", None, None),
        ("```\n  SCHEDULED: <2026-11-21 Sat>\n  ```", None, None, None),
        (
            "SCHEDULED: <2026-11-21 Sat>\n  DEADLINE: <2026-11-22 Sun +3h>",
            "2026-11-21",
            "2026-11-22",
            "+3h",
        ),
    ],
)
def test_dates(line: str, scheduled: str | None, due: str | None, repeater: str | None) -> None:
    (task,), dated = tasks_of(f"- TODO x\n  {line}\n")
    assert (task.scheduled, task.due, task.repeater) == (scheduled, due, repeater)
    assert dated == ()
    _, plain = tasks_of(f"- x\n  {line}\n")
    assert [(each.scheduled, each.due, each.marker) for each in plain] == (
        [(scheduled, due, None)] if scheduled or due else []
    )


def test_pieces_have_the_first_lines_of_their_parents() -> None:
    found = pieces(read("intro\n\nmore\n- TODO a\n  rest\n\t- b\n\t  id:: x\n\t\t- c\n- d"))
    assert [(each.text, each.line, each.end_line, each.headings) for each in found] == [
        ("intro", 1, 1, ()),
        ("more", 3, 3, ()),
        ("a\nrest", 4, 5, ()),
        ("b", 6, 7, ("a",)),
        ("c", 8, 8, ("a", "b")),
        ("d", 9, 9, ()),
    ]


def test_words_of_markup_are_no_words_of_a_piece() -> None:
    found = pieces(
        read(
            f"- {{{{embed (({UUID}))}}}} a ({UUID})\n- #+BEGIN_QUERY\n  {{:title TODO}}\n  #+END_QUERY\n"
            f"- [label]((({UUID}))) embed\n- {{{{query (todo now)}}}}"
        )
    )
    assert [(each.text, each.line, each.end_line) for each in found] == [
        (f"{{{{ (())}}}} a ({UUID})", 1, 1),
        ("#+\n{:title TODO}\n#+", 2, 4),
        ("[label]((())) embed", 5, 5),
        ("{{ (todo now)}}", 6, 6),
    ]


def test_a_long_block_is_cut_at_paragraphs_but_not_in_code() -> None:
    words = "word " * 150
    text = f"# Top\n{words}\n\nk:: v\n```\n{words}\n\n{words}\n```\n\nlast"
    found = pieces(read(text))
    assert [(each.line, each.end_line, each.headings) for each in found] == [
        (1, 2, ()),
        (5, 9, ("Top",)),
        (11, 11, ("Top",)),
    ]
    assert found[1].text.startswith("```\n")
    assert found[1].text.endswith("\n```")
    for length, parts in ((1_000, 1), (1_001, 2)):
        assert len(pieces(read(f"- {'x' * 500}\n\n  {'y' * (length - 502)}"))) == parts


# --- Titles, journal days and keys


@pytest.mark.parametrize(
    ("path", "title", "legacy"),
    [
        ("pages/Work___Plan.md", "Work/Plan", "Work___Plan"),
        ("pages/a.b.md", "a.b", "a/b"),
        ("pages/old%2Fstyle.md", "old/style", "old/style"),
        ("CON___.md", "CON", "CON___"),
        ("pages/a______b.md", "a/b", "a______b"),
        ("pages/100%.md", "100%", "100%"),
        ("pages/%FF.md", "%FF", "%FF"),
        ("pages/contents.md", "Contents", "Contents"),
        ("pages/Cafe\u0301.md", "Café", "Café"),
    ],
)
def test_a_title_is_read_out_of_a_path_in_either_format(path: str, title: str, legacy: str) -> None:
    assert title_from_path(path, triple_lowbar=True) == title
    assert title_from_path(path, triple_lowbar=False) == legacy


DAYS = ["Nov 21st, 2026", "nov 21ST, 2026", "2026-11-21", "2026_11_21"]
NO_DAYS = ["2026-11-21 notes", "2026-02-30", "Nov 2026", "21", "2026/11/21", "x" * 200]


@pytest.mark.parametrize("title", [*DAYS, *NO_DAYS])
def test_every_spelling_of_a_day_is_one_and_no_other_title(title: str) -> None:
    wanted = "2026-11-21" if title in DAYS else None
    assert JournalDays("MMM do, yyyy", "yyyy_MM_dd").day(title) == wanted


@pytest.mark.parametrize(
    ("pattern", "title"),
    [
        ("MMM do, yyyy", "Nov 3rd, 2026"),
        ("do MMMM yyyy", "3rd November 2026"),
        ("EEE, dd.MM.yyyy", "Tue, 03.11.2026"),
        ("EEEE, MMMM d, yyyy", "Tuesday, November 3, 2026"),
        ("yyyy'年'M'月'd'日'", "2026年11月3日"),
        ("yyyy/MM/dd", "2026/11/03"),
        ("yyyyMMdd", "20261103"),
        ("dd-MM-yy", "03-11-26"),
    ],
)
def test_formats(pattern: str, title: str) -> None:
    assert DayFormat(pattern).title("2026-11-03") == title
    assert DayFormat(pattern).day(title) == "2026-11-03"


@pytest.mark.parametrize("pattern", ["yyyy" + "Md" * 20, "yyyyMd" + "E" * 40, "yyyyMd" + "-" * 60])
def test_a_format_of_many_ways_is_not_used(pattern: str) -> None:
    days = JournalDays(pattern, pattern)

    def read() -> None:
        assert days.day("2026" + "1" * 90) is None
        assert days.day_of_file("2026" + "1" * 90) is None
        assert DayFormat(pattern).day("2026" + "1" * 90) is None

    assert takes_less(0.5, read)
    assert (days.title("2026-11-03"), days.day_of_file("2026_11_03")) == (
        "Nov 3rd, 2026",
        "2026-11-03",
    )


# --- The settings of a graph


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{:a 1, :b [true nil -2.5] :c #{:x "y"}}',
            {":a": None, ":b": [None, None, None], ":c": [":x", "y"]},
        ),
        (
            '; note\n#_{:old 1} {:a ; inside\n "q\\"\\n\\u4e2d" #_#_:b 2 :c (d)}',
            {":a": 'q"\n中', ":c": [None]},
        ),
        ('{:day #inst "2026-01-01" :big 1e3}', {":day": "2026-01-01", ":big": None}),
        ("{[1 2] 3 :a :b}", {":a": ":b"}),
        ("{:a 1", None),
        ("{:a ]}", None),
        ("", None),
        ('{:a "open', None),
    ],
)
def test_edn(text: str, value: object) -> None:
    assert read_edn(text) == value


def test_config_sets_what_it_names_and_nothing_else() -> None:
    config = b"""
    {:file/name-format :triple-lowbar ; new names
     :journal/page-title-format "EEEE, dd.MM.yyyy"
     :hidden ["/archived" "drafts/x.md" ""]
     :property/separated-by-commas #{:Reading_List}
     ;; :journals-directory "commented"
    }"""
    settings = from_config(config)
    assert settings.triple_lowbar
    assert settings.title_format == "EEEE, dd.MM.yyyy"
    assert settings.file_format == "yyyy_MM_dd"
    assert settings.hidden == ("archived", "drafts/x.md")
    assert settings.journals == "journals"
    assert settings.comma_properties == {"alias", "aliases", "tags", "reading-list"}


@given(st.text(alphabet='{}[]()#_"\\;:a1 \n,^', max_size=200))
def test_edn_never_raises(text: str) -> None:
    read_edn(text)
    from_config(text.encode("utf-8", "surrogatepass"))
