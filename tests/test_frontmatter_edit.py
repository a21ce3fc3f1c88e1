"""One property changes and no other byte does (R-EDIT-1 to 6)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.adapter import Value
from vaultmem.errors import FrontMatterError
from vaultmem.notes import pages
from vaultmem.notes.frontmatter import compose, locate, read_yaml, split
from vaultmem.notes.frontmatter_edit import remove_property, set_property
from vaultmem.notes.yaml_lines import format_text


def json_values(items: int, letters: int, leaves: int) -> st.SearchStrategy[Value]:
    """Values with limits for items of a list or a map, letters of a key, and values in all."""
    text = st.characters(exclude_categories=["Cs"])
    numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | st.text(text),
        lambda inner: (
            st.lists(inner, max_size=items)
            | st.dictionaries(st.text(text, max_size=letters), inner, max_size=items)
        ),
        max_leaves=leaves,
    )


def edited(note: bytes, key: str, value: object) -> bytes:
    """A file's bytes with one property set, or removed for None."""
    return pages.edit("frontmatter", note, {key: value}, None)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("", "a", 1, "---\na: 1\n---\n"),
        ("# T", "a", 1, "---\na: 1\n---\n# T"),
        ("\ufeff# T\n", "a", 1, "\ufeff---\na: 1\n---\n# T\n"),
        ("x\r\ny\r\n", "a", ["b"], "---\r\na:\r\n  - b\r\n---\r\nx\r\ny\r\n"),
        ("---\n---\n", "a", 1, "---\na: 1\n---\n"),
        ("---\n\n---", "a", 1, "---\n\na: 1\n---"),
        ("---\n# c\n---\nx", "a", 1, "---\n# c\na: 1\n---\nx"),
        ("---\r\na: 1 # c\r\n---\r\n\r\nx", "a", 2, "---\r\na: 2 # c\r\n---\r\n\r\nx"),
        ("---\r\na: 1\r\n---\r\nx", "b", ["c"], "---\r\na: 1\r\nb:\r\n  - c\r\n---\r\nx"),
        ("---\r\nt:\r\n- a\r\nz: 1\r\n---\r\n", "t", 5, "---\r\nt: 5\r\nz: 1\r\n---\r\n"),
        ("\ufeff---\na: 1\n---\nx", "a", 2, "\ufeff---\na: 2\n---\nx"),
        ("---\nb: 2\n", "a", 1, "---\na: 1\n---\n---\nb: 2\n"),
        ("---\na: [x,\n  y] # c\nb: 1\n---\n", "a", "z", "---\na: z # c\nb: 1\n---\n"),
        ("---\na: [x,\n  y] # c\nb: 1\n---\n", "a", ["z"], "---\na: [z] # c\nb: 1\n---\n"),
        ("---\na: [ 'x' ] # c\n---\n", "a", ["x", "it's"], "---\na: [ 'x', 'it''s' ] # c\n---\n"),
        ("---\na: [x, y, z,]\n---\n", "a", ["x", "z"], "---\na: [x, z,]\n---\n"),
        ("---\na:\n- x\n-   y\n---\n", "a", ["x"], "---\na:\n- x\n---\n"),
        ("---\na:\n- x\n-   y\n---\n", "a", ["w", "x", "y"], "---\na:\n- w\n- x\n-   y\n---\n"),
        ("---\na: end\n---\n", "a", "2026-11-21", '---\na: "2026-11-21"\n---\n'),
        ("---\nscore: 1\n---\n", "Score", 4, "---\nscore: 4\n---\n"),
        ('---\na:\n    - "x" # 1\n    # 2\n    - "y" # 3\nb: 1\n---\n', "a", ["x", "y", "z"],
         '---\na:\n    - "x" # 1\n    # 2\n    - "y" # 3\n    - "z"\nb: 1\n---\n'),
        ("---\r\na:\r\n- x\r\n---\r\n", "a", ["x", "w"], "---\r\na:\r\n- x\r\n- w\r\n---\r\n"),
        ("---\na:\n  -\n    x\n---\n", "a", ["x", "w"], "---\na:\n  - x\n  - w\n---\n"),
        ("---\na:\n  - |\n    x\n---\n", "a", ["x\n", "w"], '---\na:\n  - "x\\n"\n  - w\n---\n'),
        ("---\na: > # c\n  x\n  y\n\n\nb: 1\n---\n", "a", "z", "---\na: z # c\n\n\nb: 1\n---\n"),
        ("---\na: |2-\n    x\n\n---\n", "b", 1, "---\na: |2-\n    x\n\nb: 1\n---\n"),
        ("---\na: one\n  two # c\nb: 1\n---\n", "a", "z", "---\na: z # c\nb: 1\n---\n"),
        ("---\na: 'one\n\n  two'\nb: 1\n---\n", "a", 2, "---\na: 2\nb: 1\n---\n"),
        ("---\na:\n  deep: [1, 2]\n  more: x\nb: 1\n---\n", "a", 2, "---\na: 2\nb: 1\n---\n"),
        ("---\na:\n  in: x\nb: 1\n---\n", "in", 2, "---\na:\n  in: x\nb: 1\nin: 2\n---\n"),
        ("---\na: #w\n  # n\n  - x # i\n---\n", "a", ["z"], "---\na: #w\n  # n\n  - z # i\n---\n"),
        ("---\na: # why\n  - x\nb: 1\n---\n", "a", "z", "---\na: z # why\nb: 1\n---\n"),
        ("---\na:\n  - x\n\n# of b\nb: 1\n---\n", "a", None, "---\na:\n\n# of b\nb: 1\n---\n"),
        ("---\na:   # why\nb: 1\n---\n", "a", "z", "---\na: z   # why\nb: 1\n---\n"),
        ("---\na:\nb: 1\n---\n", "a", ["z"], "---\na:\n  - z\nb: 1\n---\n"),
        ("---\na : old\n---\n", "a", "new", "---\na : new\n---\n"),
        ("---\n\"a:b\": old\n---\n", "a:b", "new", "---\n\"a:b\": new\n---\n"),
        ("---\na: &x old\n---\n", "a", "new", "---\na: new\n---\n"),
        ("---\na: !!str 12 # c\n---\n", "a", 13, "---\na: 13 # c\n---\n"),
        ("---\n  a: 1\n  b: [x]\n---\n", "c", ["z"], "---\n  a: 1\n  b: [x]\n  c:\n    - z\n---\n"),
        ("---\n  a: 1\n  b: [x]\n---\n", "a", ["z"], "---\n  a:\n    - z\n  b: [x]\n---\n"),
        ("---\n? a\n: old\n---\n", "a", "new", "---\n? a\n: new\n---\n"),
        ('---\n{"a": 1, "b": [2]}\n---\n', "a", "x", '---\n{"a": "x", "b": [2]}\n---\n'),
        ('---\n{"a": 1, "b": [2]}\n---\n', "b", None, '---\n{"a": 1, "b": null}\n---\n'),
        ('---\n{\n  "a": 1\n}\n---\n', "c", ["x"], '---\n{\n  "a": 1, "c": ["x"]\n}\n---\n'),
        ("---\n{}\n---\n", "c", 1, '---\n{"c": 1}\n---\n'),
        ("---\n🌲: x # 🌲\n键: y\n---\n🌲", "键", "值", "---\n🌲: x # 🌲\n键: 值\n---\n🌲"),
        ("---\nA: 1\na: 2\n---\n", "a", 3, "---\nA: 1\na: 3\n---\n"),
        ("---\nAB: 1\naB: 2\n---\n", "ab", 3, "---\nAB: 1\naB: 2\nab: 3\n---\n"),
    ],
)  # fmt: skip
def test_shapes(before: str, key: str, value: object, after: str) -> None:
    assert set_property(before, key, value) == after  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("---\na: 1\n---\nx", "a", "---\n---\nx"),
        ("---\na: 1 # c\n# about b\nb: 2\n---\n", "a", "---\n# about b\nb: 2\n---\n"),
        ('---\n{"a": 1, "b": 2, "c": 3}\n---\n', "a", '---\n{"b": 2, "c": 3}\n---\n'),
        ('---\n{"a": 1, "b": 2, "c": 3}\n---\n', "b", '---\n{"a": 1, "c": 3}\n---\n'),
        ('---\n{"a": 1, "b": 2, "c": 3}\n---\n', "c", '---\n{"a": 1, "b": 2}\n---\n'),
        ('---\n{"a": 1}\n---\n', "a", "---\n{}\n---\n"),
        ("---\r\na:\r\n- 1\r\nb: 2\r\n---\r\n", "a", "---\r\nb: 2\r\n---\r\n"),
    ],
)
def test_removed_shapes(before: str, key: str, after: str) -> None:
    assert remove_property(before, key) == after


@pytest.mark.parametrize(
    "note",
    [
        "---\ntitle: Foo: bar\n---\n",
        "---\ntags: [a]\ntags: [b]\n---\n",
        "---\ncreated: {{date}}\n---\n",
        "---\n- a\n---\n",
        "---\nsome text\n---\n",
        "---\nb: 1\n...\n---\n",
        "---\na: &x 1\nb: *x\n---\n",
        "---\nb: &x 1\na: *x\n---\n",
        "---\nb: &x 1\na:\n  - y\n  - *x\n---\n",
        "---\na: " + "x" * 70_000 + "\n---\n",
        "---\n? a\nb: 1\n---\n",
        b"---\nb: \xff\n---\n",
        b"\xff\xfe-\x00-",
        b"\xff\xfea",
    ],
)
def test_refused(note: str | bytes) -> None:
    for data in (note, note.encode()) if isinstance(note, str) else (note,):
        with pytest.raises(FrontMatterError) as refusal:
            _ = (
                set_property(data, "a", "new")
                if isinstance(data, str)
                else edited(data, "a", "new")
            )
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "\ud800", 2**64, "x" * 70_000, ["\ud800"]]
)
def test_values_that_no_editor_could_read_back_are_refused(value: object) -> None:
    with pytest.raises(FrontMatterError):
        set_property("---\nb: 1\n---\n", "a", value)  # type: ignore[arg-type]


def test_a_copy_of_a_property_is_not_removed_and_that_is_said() -> None:
    with pytest.raises(FrontMatterError, match="copy of another"):
        remove_property("---\na: &x 1\nb: *x\n---\n", "b")


# --- The law, over notes put together from known entries

VALUES = json_values(3, 5, 8)
ENTRIES = st.sampled_from(
    [
        ["k: plain"],
        ["k:   spaced  # why"],
        ["k: 'single' # why"],
        ['"k": "double"'],
        ["k:"],
        ["k: # nothing yet"],
        ["k: [a, b]"],
        ["k: [a, # one", "    b] # two"],
        ["k: {a: 1}"],
        ["k:", "- a", "- b"],
        ["k: # list", "  # inner", "  - a", "  - b: c", "    d: e"],
        ["k:", "  a: 1", "  b:", "    - x"],
        ["k: |", "  text", "", "  k: v"],
        ["k: >-", "  text"],
        ["k: one", "  two"],
        ["k:", "  below # why"],
        ["k: 12:30"],
    ]
)
GAPS = st.sampled_from([[], [], [""], ["# words"]])


@st.composite
def notes(draw: st.DrawFn) -> tuple[list[list[str]], str, str, str]:
    """Entries with keys k0, k1, ..; what goes before; the line end; the rest of the file."""
    chunks: list[list[str]] = []
    for number, entry in enumerate(draw(st.lists(ENTRIES, min_size=1, max_size=5))):
        first = entry[0].replace("k", f"k{number}", 1)
        chunks += [[first, *entry[1:]], draw(GAPS)]
    mark = draw(st.sampled_from(["", "\ufeff"]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    body = draw(st.sampled_from(["", "---\n", "k0: body\nx", "\n\ntail  \r\n"]))
    return chunks, mark, newline, body


def assembled(chunks: list[list[str]], mark: str, newline: str, body: str) -> str:
    lines = ["---", *(line for chunk in chunks for line in chunk), "---"]
    return mark + "".join(line + newline for line in lines) + body


@given(notes(), st.integers(0, 5), VALUES)
def test_law_of_set(
    note: tuple[list[list[str]], str, str, str], number: int, value: object
) -> None:
    chunks, mark, newline, body = note
    text = assembled(*note)
    key = f"k{number}"
    after = set_property(text, key, value)  # type: ignore[arg-type]
    front, was = split(after), split(text)
    assert front.error is None
    assert was.error is None
    assert json.dumps(front.properties) == json.dumps({**was.properties, key: value})
    at = min(2 * number, len(chunks))
    head = assembled(chunks[:at], mark, newline, "").removesuffix("---" + newline)
    tail = (
        newline.join([*(line for chunk in chunks[at + 1 :] for line in chunk), "---"])
        + newline
        + body
    )
    assert after.startswith(head)
    assert after.endswith(tail)
    assert set_property(after, key, value) == after  # type: ignore[arg-type]


@given(notes(), st.integers(0, 5))
def test_law_of_remove(note: tuple[list[list[str]], str, str, str], number: int) -> None:
    chunks = note[0]
    after = remove_property(assembled(*note), f"k{number}")
    if 2 * number >= len(chunks):
        assert after == assembled(*note)
        return
    was = split(assembled(*note)).properties
    assert split(after).properties == {key: of for key, of in was.items() if key != f"k{number}"}
    left = [chunk for at, chunk in enumerate(chunks) if at != 2 * number]
    assert after == assembled(left, *note[1:])


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), VALUES, st.text())
def test_law_of_any_key_in_any_text(key: str, value: object, text: str) -> None:
    after = set_property(text, key, value)  # type: ignore[arg-type]
    found = split(after)
    assert json.dumps(found.properties[key]) == json.dumps(value)
    assert after.endswith(text.removeprefix("\ufeff"))
    assert locate(after) is not None


@given(st.binary(max_size=60), st.sampled_from(["a", "k"]), VALUES)
def test_no_bytes_are_lost(body: bytes, key: str, value: object) -> None:
    note = b"---\na: 1\n---\n" + body
    assert edited(note, key, value).endswith(b"---\n" + body)


Json = json_values(4, 8, 12)


@given(st.text() | st.text("0123456789.eE+-_:xobTZ infa", max_size=12))
def test_written_text_reads_back_in_both_yamls(text: str) -> None:
    import yaml

    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return
    line = f"k: {format_text(text)}\n"
    assert read_yaml(line).properties == {"k": text}
    assert yaml.safe_load(line) == {"k": text}


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), Json
    ),
    st.text(),
)
def test_composed_notes_read_back(values: dict[str, object], body: str) -> None:
    text = compose(values, body)  # type: ignore[arg-type]
    front = split(text)
    assert front.error is None
    assert json.dumps(front.properties) == json.dumps(values)
    assert text[front.body :] == body


def test_refused_names() -> None:
    with pytest.raises(FrontMatterError, match="name"):
        set_property("x", "", 1)
    with pytest.raises(FrontMatterError):
        set_property("x", "k" * 2000, 1)
