"""Memory files: what is written can be read back, and an edit leaves everything else alone."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.stand_in_files import Files
from vaultmem.adapter import Value
from vaultmem.errors import FrontMatterError
from vaultmem.notes import frontmatter, pages
from vaultmem.text.similarity import content_hash
from vaultmem.vault.files import decode
from vaultmem_logseq import dialect

STYLES = ("frontmatter", "outline")
LINES = st.sampled_from(
    [
        *["", "text", "- item", "  - nested", "---", "id: x", "key:: value", "id:: y", "```", "# Head", "\ufeff", "x  "],
        *["a\rb", "\0", "\ud800", "\x07", "\u2028", "笔记 🎉", "%%", "tags: [a", "\t", "...", "{{", "--- ", "\ufeff---"],
    ]
)  # fmt: skip
CONTENTS = st.lists(LINES | st.text(max_size=8), max_size=8).map("\n".join) | st.text(max_size=30)
PROPERTIES: dict[str, Value] = {
    "version": 1,
    "id": "4f3c2b1a-0000-4000-8000-000000000000",
    "phase": "inbox",
    "tags": ["a b", "c"],
    "aliases": ["Chai"],
    "links": ["[[Ann]]", "[[Tea, green]]"],
    "source": 'said: "it\'s" so #1',
    "importance": 0.7,
    "compressed": True,
    "access_count": 3,
    "created_at": "2026-11-22T10:00:00Z",
    "mine": "own",
}
# The properties of a memory that vaultmem has written.
WHOLE: dict[str, Value] = {
    **PROPERTIES, "phase": "organized", "category": "people", "scope": "global", "updated_at": "2026-11-22T10:00:00Z",
}  # fmt: skip
every_style = pytest.mark.parametrize("style", STYLES)


def read(style: str, data: bytes) -> pages.Page:
    return pages.read(style, decode(data)[0])


@every_style
@given(CONTENTS)
@example("---\nid: x\n---\n")
@example("---\n")
@example("id:: x")
@settings(max_examples=examples(300))
def test_every_content_comes_back(style: str, content: str) -> None:
    for properties in (
        PROPERTIES,
        WHOLE,
        {**WHOLE, "id": "a b", "phase": "inbox", "importance": "0.7"},
        {},
    ):
        data = pages.compose(style, properties, content)
        page = read(style, data)
        assert page.error is None
        assert page.properties == properties
        assert content_hash(page.content) == content_hash(content)
        assert b"\r" not in data
        assert b"\0" not in data


@every_style
def test_what_a_program_alone_needs_is_one_line(style: str) -> None:
    """And the properties are in our order, those of others after them."""
    plain = pages.compose(style, {**PROPERTIES, "agent": None}, "x").decode()
    order = ["tags", "source", "links", "id", "phase", "importance", "access", "version", "mine"]
    assert re.findall(rf"^({'|'.join(order)})", plain, re.MULTILINE) == order
    assert "agent" not in plain
    data = pages.compose(style, WHOLE, "x")
    sign = "::" if style == "outline" else ":"
    line = f"vaultmem{sign} {WHOLE['id']} importance=0.7 compressed=true access_count=3 created_at=2026-11-22T10:00:00Z version=1"
    assert line in data.decode().splitlines()
    keys = re.findall(r"^(\w+):", data.decode(), re.MULTILINE)
    aliases = "aliases" if sign == ":" else "alias"
    assert keys == ["category", "tags", aliases, "source", "links", "vaultmem", "mine"]
    # A file keeps its form; a new id adds a line; a person's own value has precedence and stays where it is.
    new = pages.edit(style, b"x", WHOLE, None).decode()
    assert f"vaultmem{sign} {WHOLE['id']} importance" in new
    ids = b"id: a\nother:" if sign == ":" else b"id:: a\nother::"
    old = data.replace(f"vaultmem{sign}".encode(), ids)
    assert b"vaultmem" not in pages.edit(style, old, WHOLE, None)
    own = data.replace(b"mine:", b"importance:")
    assert read(style, own).properties["importance"] == "own"
    changed = pages.edit(style, own, {"importance": 0.2, "updated_at": "2026-11-23"}, None).decode()
    assert f"importance{sign} 0.2" in changed
    assert "importance=" not in changed
    assert "updated_at=2026-11-23" in changed


def test_a_logseq_page_is_spelled_as_logseq_does() -> None:
    properties: dict[str, Value] = {"id": "4f3c", "created_at": "2026-11-22"}
    properties |= {"aliases": ["Chai"], "tags": ["a", "b"]}
    text = pages.compose("outline", properties, "Tea\n- green").decode()
    head = "tags:: a, b\nalias:: Chai\nid:: 4f3c\ncreated-at:: 2026-11-22\n"
    assert text == f"{head}\n- Tea\n\t- green\n"
    note = dialect.open(Files()).parse("pages/Tea.md", text, frontmatter.split(text))
    assert (note.aliases, note.tags) == (("Chai",), ("a", "b"))


def test_an_obsidian_note_is_spelled_as_obsidian_does() -> None:
    data = pages.compose("frontmatter", {"tags": ["a"], "id": "4f3c"}, "\n\nTea  \n\nend\n\n")
    assert data == b"---\ntags:\n  - a\nid: 4f3c\n---\nTea  \n\nend\n"


SETS = st.dictionaries(
    st.sampled_from(["id", "phase", "tags", "created_at", "aliases"]),
    st.none() | st.sampled_from(["x", "a: b", "true"]),
    max_size=3,
).map(lambda sets: {k: ([v] if k in {"tags", "aliases"} and v else v) for k, v in sets.items()})
FILES = st.sampled_from(
    [
        b"", b"text", b"text\n", b"\n\ntext\n", b"---\n---\n", b"---\nid: a\nmine: 1 # so\n---\n\ntext\n",
        b"---\r\nid: a\r\n---\r\ntext\r\n", b"\xef\xbb\xbf---\nid: a\n---\ntext", b"\xef\xbb\xbftext\n",
        b"id:: a\nmine:: 1\n\n- text\n", b"id:: a", b"id:: a\r\n\r\n- text\r\n- more", b"- a\n\t- b\n", b"# Head\ntext\n",
        b"---\nid: a\ntags: x\n---\nmine:: 1\n- text\n", b"---\nCreated-At: 1\n---\n", b"created-at:: 1\ncreated_at:: 2\n",
        *(pages.compose(style, WHOLE, "text") for style in STYLES), pages.compose("frontmatter", WHOLE, "x") + b"id: z\n",
        b"---\ncategory: people\nvaultmem: a-1 created_at=2026-11-22 new=1\nPhase: x\n---\n", b"vaultmem:: role=user\n\n- x",
        b"---\nvaultmem: cool\n---\nx", b"---\nvaultmem: a=b c\n---\nx",
        "---\nid: a\n---\nhé\n".encode("utf-16"), b"---\nid: a\n---\nbad \xff byte\n",
    ]
)  # fmt: skip


@every_style
@given(FILES, SETS, st.none() | CONTENTS)
@settings(max_examples=examples(250))
def test_an_edit_does_what_it_says_and_nothing_else(
    style: str, data: bytes, sets: dict[str, Value], content: str | None
) -> None:
    if data[:2] == b"\xff\xfe" and content is not None:
        content = content.encode("utf-16", "replace").decode("utf-16")
    before = read(style, data)
    new = pages.edit(style, data, sets, content)
    page = read(style, new)
    expected = {**before.properties, **sets}
    assert page.properties == {k: v for k, v in expected.items() if v is not None or k not in sets}
    wanted = before.content if content is None else content
    assert content_hash(page.content) == content_hash(wanted)
    assert pages.edit(style, new, sets, content) == new
    assert (new[:3] == b"\xef\xbb\xbf") == (data[:3] == b"\xef\xbb\xbf")
    if content is not None and b"\xff" not in data and b"\r\n" in data.partition(b"\n")[0] + b"\n":
        assert new.count(b"\n") == new.count(b"\r\n")
    assert pages.edit(style, data, {}, None) == data
    assert pages.edit(style, data, {}, before.content) == data


def test_comments_and_the_keys_of_a_person_stay() -> None:
    data = (
        b"---\n# mine\nID: a # so\r\nnested: {a: [1, 2]}\nCreated-At: 2026-01-01\n---\n\n\ntext\n\n"
    )
    new = pages.edit("frontmatter", data, {"created_at": "2026-11-22", "phase": "inbox"}, "other")
    assert new == (
        b"---\n# mine\nID: a # so\r\nnested: {a: [1, 2]}\nCreated-At: 2026-11-22\nphase: inbox\n---\n\n\nother\n"
    )


@every_style
@pytest.mark.parametrize(
    "data", [b"---\na: [b\n---\nx", b"---\na: 1\na: 2\n---\n", "---\na: 1\n---\n".encode("utf-32")]
)
def test_what_cannot_be_read_is_not_written(style: str, data: bytes) -> None:
    with pytest.raises(FrontMatterError):
        pages.edit(style, data, {"id": "x"}, "new")


@pytest.mark.parametrize(
    "content", ["---\nid: x\n---\nso", "---\n---\n", "\ufeffx", "\ufeff---\na: 1\n---\n"]
)
@pytest.mark.parametrize("data", [b"", b"text\n", b"\xef\xbb\xbftext\r\n", b"---\nmine: 1\n---\n"])
def test_a_content_like_the_beginning_of_a_file_stays_it(data: bytes, content: str) -> None:
    new = pages.edit("frontmatter", data, {}, content)
    page = read("frontmatter", new)
    assert content_hash(page.content) == content_hash(content)
    assert page.properties == read("frontmatter", data).properties
