"""Front matter is found as the editors find it and read as YAML 1.2, in every shape and size."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import takes_less
from vaultmem.notes.frontmatter import LIMIT, read_yaml, split
from vaultmem.notes.yaml_lines import read_simple, scalar


def properties(block: str) -> dict[str, object]:
    front = split(f"---\n{block}\n---\n")
    assert front.error is None, front.error
    return dict(front.properties)


def error(block: str) -> str:
    front = split(f"---\n{block}\n---\n[[T]]\n")
    assert front.properties == {}
    assert front.error is not None
    assert "\n" not in front.error
    return front.error


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\na: 1\n---\nbody", "body"),
        ("---  \na: 1\n--- \t\nbody", "body"),
        ("\ufeff---\na: 1\n---\nbody", "body"),
        ("---\r\na: 1\r\n---\r\nbody\r\n", "body\r\n"),
        ("---\na: 1\n---", ""),
        ("---\na: 1\n---\r\n", ""),
        ("---\na: 1\n---\n\n---\nb: 2\n---\n", "\n---\nb: 2\n---\n"),
    ],
)
def test_found(text: str, body: str) -> None:
    front = split(text)
    assert front.properties == {"a": 1}
    assert text[front.body :] == body


@pytest.mark.parametrize(
    "text",
    [
        "", "---", "---\na: 1\n", "---\na: 1\n----\n", "\n---\na: 1\n---\n", "--- x\na: 1\n---\n",
        "---\na: 1\n --- \n", "a\n---\na: 1\n---\n", "\ufeff\ufeff---\na: 1\n---\n",
    ],
)  # fmt: skip
def test_not_found(text: str) -> None:
    assert split(text) == ({}, None, 0)


@given(st.text(), st.text())
def test_the_body_starts_after_the_first_closing_line(block: str, body: str) -> None:
    text = f"---\n{block}\n---\n{body}"
    front = split(text)
    assert text[front.body :].endswith(body)
    assert text[: front.body].rstrip("\n").rstrip(" \t\r").endswith("---")
    assert "\n" not in (front.error or "")
    json.dumps(front.properties, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("tRue", "tRue"),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("", None),
        ("nUll", "nUll"),
        ("12:30", "12:30"),
        ("2026-05-07", "2026-05-07"),
        ("2026-05-07 10:00:00 +02:00", "2026-05-07 10:00:00 +02:00"),
        ("0123", 123),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("4.50", 4.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.5.2", "1.5.2"),
        ("-", "-"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", "9223372036854775808"),
        ("9" * 5000, "9" * 5000),
        ("٣", "٣"),
        ("<<", "<<"),
    ],
)
def test_scalars_of_yaml_12(text: str, value: object) -> None:
    found = scalar(text)
    assert (found, type(found)) == (value, type(value))
    if text != "-":
        assert properties(f"k: {text}")["k"] == value
        assert properties(f"k: [{text or '~'}] # comment")["k"] == [value]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("up: [[A]]", {"up": [["A"]]}),
        ("up: '[[A]]'", {"up": "[[A]]"}),
        ("tags:\n- a\n-   b", {"tags": ["a", "b"]}),
        ("tags:\n  - a\n\n  - b # c", {"tags": ["a", "b"]}),
        ("tags: [a, b,]", {"tags": ["a", "b"]}),
        ('{"tags": ["a"], "n": 1, "x":null}', {"tags": ["a"], "n": 1, "x": None}),
        ("a: &x [1, two]\nb: *x", {"a": [1, "two"], "b": [1, "two"]}),
        ("a: |\n  one\n\n  two\nb: >-\n  x\n  y", {"a": "one\n\ntwo\n", "b": "x y"}),
        ("a: !!str 12\nb: !!int '7'\nc: !tag x", {"a": "12", "b": 7, "c": "x"}),
        ("a: one\n  two", {"a": "one two"}),
        ("url: http://x.org/a:b#c", {"url": "http://x.org/a:b#c"}),
        ("a: 'it''s'\nb: \"q\\\"\\u00e9\\n\"", {"a": "it's", "b": 'q"é\n'}),
        ("a:\n  b:\n    - c: 1\n      d: 2", {"a": {"b": [{"c": 1, "d": 2}]}}),
        ("标题: 计划 — 一\nключ: да\n🌲: x", {"标题": "计划 — 一", "ключ": "да", "🌲": "x"}),
        ('a: x\u2028y\u0085z\nb: "\u2029"', {"a": "x\u2028y\u0085z", "b": "\u2029"}),
        ("my key: 1\nother-key : 2", {"my key": 1, "other-key": 2}),
        ("a: b\r\nc:\r\n  - d\r", {"a": "b", "c": ["d"]}),
        ("? a\n: b", {"a": "b"}),
        ("a:\nb:   \nc: ''", {"a": None, "b": None, "c": ""}),
    ],
)
def test_shapes(block: str, expected: dict[str, object]) -> None:
    assert properties(block) == expected
    assert list(properties(block)) == list(expected)


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("title: Foo: bar", "line 2: mapping values"),
        ("a: 1\ntags:\n\t- a", "line 4"),
        ("owner: @bob", "line 2"),
        ("a: 1\nup: [[T]] and more", "line 3"),
        ("tags: [#a, #b]", "line"),
        ("tags: [a]\ntags: [b]", 'line 3: the key "tags" occurs twice'),
        ("a:\n  b: 1\n  'b': 2", 'line 4: the key "b" occurs twice'),
        ("created: {{date}}", "line 2: a key that is"),
        ("? [a]\n: b", "line 2: a key that is"),
        ("a: &x [*x]", "line 2: nested deeper"),
        ("a: *gone", "line 2: found undefined alias"),
        ("a: &x [1]\n*x : 2", "line 2: a key that is a list"),
        ("- a\n- b", "line 2: no properties"),
        ("a: 1\n...\nb: 2", "line"),
        ("a: 1\n--- # two\nb: 2", "line 3: a second YAML document"),
        ("a: \x07", "control characters"),
        ("a: \ud800", "line 2: half a letter"),
        ("a: 'open", "line"),
    ],
)
def test_unreadable_gives_one_line_and_no_properties(block: str, says: str) -> None:
    assert says in error(block)


LETTERS = "abcdefghijklm"
HOSTILE = {
    "brackets": "[" * 60_000,
    "bracket lines": "[\n" * 30_000,
    "braces": "{a: " * 15_000,
    "dashes": "- " * 30_000,
    "questions": "? " * 30_000,
    "indentation": "".join(f"{' ' * depth}k:\n" for depth in range(350)),
    "nine to the twelfth": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise(LETTERS)),
    "one long text many times": f"a: &a {'x' * 30_000}\nb: [{', '.join(['*a'] * 8_000)}]",
    "anchors on anchors": "&a " * 20_000,
    "colons": "a" + ":" * 60_000,
    "blanks": f'a:{" " * 60_000}"',
    "open list": "a: [" + "b, " * 20_000,
    "words": "a " * 30_000,
    "directives": "%a\n" * 20_000,
    "too long": "a: " + "x" * LIMIT,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_blocks_are_refused_at_once(name: str) -> None:
    assert takes_less(1.0, lambda: error(HOSTILE[name]))


WORDS = st.sampled_from(
    ["a", "tags", "no", "true", "~", "12", "0x1f", "-3", "x y", "a:b", "12:30", "a#b", "a #b", "a: b", "a:", "计划", "[[A]]", "'q'", '"q"',
     '"', "[a, b]", "[a,b , c]", "[ a ]", "[a", "{}", "&a", "*a", "- a", "-", "?", "a\tb", "\xa0", "\u2028", "|"]
)  # fmt: skip

LINES = st.one_of(
    st.builds("{}: {}".format, WORDS, WORDS),
    st.builds("{}:{}".format, WORDS, st.sampled_from(["", " ", "  ", "x"])),
    st.builds("{}- {}".format, st.sampled_from(["", " ", "  ", "\t"]), WORDS),
    st.builds("{}{}".format, st.sampled_from(["", "  "]), WORDS),
    st.sampled_from(
        ["", " ", "# c", "...", "  - ", "tags:", "a: b", "b: ''", "x: [a b, c]", "y:  z  "]
    ),
    st.text(max_size=12),
)


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_fast_way_equals_full_reader(block: str) -> None:
    fast = read_simple(block + "\n")
    if fast is None:
        return
    full = read_yaml(block + "\n").properties
    assert json.dumps(fast) == json.dumps(full)


@pytest.mark.parametrize(
    "block", ["t:\n- a\n  - b\n", "t:\n  - a\n- b\n", "t: x\n- a\n", "- a\n", "t: x\n  y\n"]
)
def test_fast_way_leaves_the_rest_to_the_reader(block: str) -> None:
    assert read_simple(block) is None
