"""Values and front matter as they are written: read back by both YAMLs, made for people."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.json_values import json_values
from vaultmem.adapter import Value
from vaultmem.notes.frontmatter import compose, read_yaml, split
from vaultmem.notes.yaml_lines import format_text, format_value

Json = json_values(4, 8, 12)


@given(st.text() | st.text("0123456789.eE+-_:xobTZ infa", max_size=12))
def test_written_text_reads_back_in_both_yamls(text: str) -> None:
    import yaml

    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return
    line = f"k: {format_text(text)}\n"
    assert read_yaml(line).properties == {"k": text}
    assert yaml.safe_load(line) == {"k": text}


@given(Json)
def test_written_values_read_back(value: object) -> None:
    text = format_value(value)  # type: ignore[arg-type]
    found = read_yaml(f"k: {text}\n").properties["k"]
    assert json.dumps(found) == json.dumps(value)


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


def test_composed_note_is_made_for_people() -> None:
    values: dict[str, Value] = {
        "id": "7f",
        "标签": ["计划", "no"],
        "content": "x",
        "on": True,
        "due": None,
    }
    assert compose(values, "Body\n") == (
        '---\nid: 7f\n标签:\n  - 计划\n  - "no"\ncontent: x\n"on": true\ndue:\n---\nBody\n'
    )
    assert compose({}, "x") == "---\n\n---\nx"
