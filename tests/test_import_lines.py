"""Broken lines, paths and ids of an import, and lines from other programs."""

import base64
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.exchanged import KINDS, VALUES, exported, line, made, memories_of, notes, on, put, took
from tests.laws import examples
from tests.tables import each_case
from vaultmem import Vault
from vaultmem.vault.walk import DEEPEST

pytestmark = pytest.mark.usefixtures("without_a_model")


BROKEN = [
    "{", "[]", "5", "null", '"text"', "{}", "\x00", '{"id": NaN}', "[" * 100_000, '{"a":' * 100_000,
    '{"properties": {}}', '{"properties": [], "content": ""}', '{"properties": {}, "content": 5}',
    line(path="../out.md"), line(path="/etc/x.md"), line(path="people/../../out.md"), line(path="people\\..\\x.md"),
    line(path=".obsidian/x.md"), line(path="people/.hidden.md"), line(path="a\0.md"), line(path="x.txt"),
    line(path="entries/a.md"), line(path="pending.md"), line(path="archive/notes/a.md"), line(path="a" * 300 + ".md"),
    line(path="people//x.md"), line(path="people/x.md\n"), line(path="a/" * 600 + "x.md"), line(path=5),
    line(own="x" * 300), line(own="a\nb"), line(archived="yes"), line(own=["x"]), line(more=1),
    line(properties={"id": "one", "deep": json.loads("[" * 60 + "]" * 60)}), line(properties={"id": "one", "x": ["y"] * 20_000}),
    line(properties={"id": "one", "long": "x" * 100_000}), line(content="x" * 4_100_000),
    line(file={"style": "frontmatter", "base64": "!!"}), line(file={"style": "frontmatter"}), line(file=5),
    line(file={"style": "frontmatter", "base64": base64.b64encode(b"---\nid: [\n---\n").decode()}),
    line(file={"style": "frontmatter", "base64": base64.b64encode(b"\xff\xfe\xfd---\n").decode()}),
    line(file={"style": "frontmatter", "base64": base64.b64encode(b"x\0y").decode()}),
    '{"id": ' + "9" * 5_000 + "}",
    line(path="Pending.md"), line(path="PENDING.MD"), line(path="pending.md. "), line(path="what changed.md"), line(path="EXPECTATIONS.md"),
    line(path="expectation\u017f.md"), line(path="pending.sync-conflict-20261121-101500-ABCDEFG.md"),
    line(path="pending (conflicted copy 2026-11-21).md"), line(path="Entries/a.md"), line(path="Archive/Notes/a.md"), line(path="sync/a.md"), line(path="Sync/laptop-3fa2c1.md"),
    line(path="node_modules/a.md"), line(path="people/Node_Modules/a.md"), line(path=" people/a.md"), line(path="people/ a.md"),
    line(path="people/. ./a.md"), line(path="people/\u00a0/a.md"),
    line(content="a\0b"), line(content="bell\x07"), line(content="\x1b[2J"), line(content="del\x7f"), line(content="page\x0c"),
]  # fmt: skip

SAFE = {
    "Archive/A.md": "archive/A.md", "Inbox/A.md": "inbox/A.md", "PEOPLE/A.md": "people/A.md", "people/CON.md": "people/CON memory.md",
    "aux/A.md": "aux memory/A.md", "people/nul.txt.md": "people/nul memory.txt.md", "people/A:b.md": "people/A-b.md",
    "people/Dr./A.md": "people/Dr/A.md", "people/x /A.md": "people/x/A.md", "people/A.md.": "people/A.md",
    "people/Console.md": "people/Console.md", "people/What is it?.md": "people/What is it?.md",
    "people/COM1 .md": "people/COM1 memory .md",
}  # fmt: skip


@each_case("path", SAFE)
def test_a_path_becomes_one_that_any_system_can_have(tmp_path: Path, path: str) -> None:
    vault = made(tmp_path / "v")
    archived = SAFE[path].startswith("archive/")
    assert took(vault, line(path=path, archived=archived))["new"] == 1
    assert [*notes(vault)] == [SAFE[path]]
    assert took(vault, line(path=path, archived=archived))["known"] == 1


def test_a_path_that_no_walk_reaches_is_refused(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    deepest, deeper = "a/" * (DEEPEST - 1) + "x.md", "a/" * DEEPEST + "x.md"
    report = took(vault, line("deep", path=deeper), code=1)
    assert (report["new"], report["failures"]) == (0, 1)
    assert took(vault, line("deep", path=deepest))["new"] == 1
    with Vault(str(vault)) as opened:
        assert [memory["id"] for memory in opened.memories()] == ["deep"]


def test_a_path_is_not_that_of_the_page_wherever_that_is(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    name = memories_of(vault).name
    (vault / ".vaultmem").mkdir()
    (vault / ".vaultmem" / "config.yaml").write_text(f"pending:\n  path: {name}/Todo.md\n")
    report = took(vault, line(path="todo.md") + line("two", "people/Todo.md"), code=1)
    assert [each["line"] for each in report["failed"]] == [1]
    assert [*notes(vault)] == ["people/Todo.md"]


@each_case("broken", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_line_is_named_and_the_rest_is_taken(tmp_path: Path, broken: str) -> None:
    vault = made(tmp_path / "v")
    lines = (
        line("first", "people/F.md", "First.")
        + broken.strip("\n")
        + "\n\n"
        + line("last", "people/L.md", "Last.")
    )
    report = took(vault, lines, code=1)
    assert [each["line"] for each in report["failed"]] == [2], report
    assert "\n" not in report["failed"][0]["reason"]
    assert sorted(notes(vault)) == ["people/F.md", "people/L.md"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["v"]
    assert sorted(each.name for each in vault.iterdir()) == sorted(
        [".obsidian", memories_of(vault).name]
    )


def test_bytes_that_are_no_text_and_a_line_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultmem.exchange.lines.LONGEST", 1_000)
    vault = made(tmp_path / "v")
    huge = b'{"content": "' + b"x" * 300_000 + b'"}\n'
    report = took(vault, b"\xef\xbb\xbf" + line("a", "people/A.md", "A.").encode() + b"\xff\xfe\n" + huge + line("b", "people/B.md", "B.").rstrip().encode(), code=1)  # fmt: skip
    assert [each["line"] for each in report["failed"]] == [2, 3]
    assert report["new"] == 2


@each_case("own", ["../../out", "/etc/passwd", "a/b", "..", "C:\\x", "%2e%2e", "中/文"])
def test_an_id_is_no_path(tmp_path: Path, own: str) -> None:
    vault = made(tmp_path / "v")
    put(vault, {"people/One.md": b"Mine.\n"})
    took(vault, line(own, "people/One.md", "Theirs."))
    took(
        vault,
        json.dumps({"id": own + "2", "content": "By another program."}),
        "--format",
        "memories",
    )
    assert notes(vault)["people/One.md"] == b"Mine.\n"
    assert len(notes(vault)) == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["v"]


def test_a_place_that_is_taken_is_left_to_whom_it_belongs(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    took(vault, line("a", "people/ONE.md", "A.") + line("b", "people/one.md", "B."))
    assert len(notes(vault)) == 2
    assert len({name.lower() for name in notes(vault)}) == 2


def test_links_in_the_memory_folder_are_not_followed(tmp_path: Path) -> None:
    vault, outside = made(tmp_path / "v"), tmp_path / "outside"
    outside.mkdir()
    memories_of(vault).mkdir()
    (memories_of(vault) / "people").symlink_to(outside)
    took(vault, line(path="people/x.md"), code=1)
    assert not list(outside.iterdir())


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=60) | st.builds(lambda key, value: json.dumps({**json.loads(line()), key: value}).encode(), st.sampled_from(["id", "path", "archived", "properties", "content", "file"]), VALUES), max_size=5), st.sampled_from(["jsonl", "memories", "memory-cli"]))  # fmt: skip
def test_any_bytes_are_safe(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], shape: str
) -> None:
    root = tmp_path_factory.mktemp("bytes")
    vault = made(root / "v")
    ended = on(vault, "import", "-", "--format", shape, stdin=b"\n".join(parts))
    assert ended.code in (0, 1)
    assert "Traceback" not in ended.err
    assert [each.name for each in root.iterdir()] == ["v"]
    assert {each.name for each in vault.iterdir()} <= {".obsidian", memories_of(vault).name}
    assert exported(vault).count("\n") == len(
        [name for name in notes(vault) if not name.startswith("archive/")]
    )


THEIRS = {
    "id": "a1b2c3d4-0000-4000-8000-000000000001", "content": "User prefers Python for CLI tools", "agent": "claude",
    "personality": "engineer", "project": "memories", "type": "preference", "global": True, "decay_policy": "contextual",
    "confidence": 0.95, "created_at": "2026-02-21T10:00:00Z", "last_reinforced_at": "2026-02-22T10:00:00Z", "deleted": False,
}  # fmt: skip

CLI = {
    "ID": "550e8400-e29b-41d4-a716-446655440000", "Content": "user prefers dark mode", "ContentHash": "", "Phase": "organized",
    "Category": "preferences", "Scope": "agent:claude", "Tags": ["preference", "ui"], "Source": "claude",
    "CreatedAt": "2026-05-07T10:00:00Z", "UpdatedAt": "2026-05-08T10:00:00Z", "ExpiresAt": "2090-01-01T00:00:00Z", "AccessCount": 3,
    "Links": ["7f8d9e00-0000-4000-8000-000000000002"], "Version": 1,
}  # fmt: skip

LINKED = {**CLI, "ID": "7f8d9e00-0000-4000-8000-000000000002", "Content": "the editor is Helix", "Links": [CLI["ID"]],
          "Phase": "inbox", "Category": "inbox", "ExpiresAt": None}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_shape_of_memories_comes_back(tmp_path: Path, kind: str) -> None:
    vault = made(tmp_path / "v", kind)
    own = {"id": "gone", "content": "Gone.", "deleted": True, "agent": "", "last_reinforced_at": ""}
    gone = {**THEIRS, **own}
    lines = json.dumps(THEIRS) + "\n" + json.dumps(gone)
    assert took(vault, lines, "--format", "memories")["new"] == 2
    out = exported(vault, "--format", "memories", "--include-archived")
    back = {each["id"]: each for each in map(json.loads, out.splitlines())}
    for theirs in (THEIRS, gone):
        ours = back[str(theirs["id"])]
        assert [*ours] == [*theirs]
        assert {**ours, "confidence": 0} == {**theirs, "confidence": 0}
    assert took(vault, lines, "--format", "memories")["known"] == 2


def test_what_a_search_of_memories_answers_is_read(tmp_path: Path) -> None:
    vault = made(tmp_path / "v", "obsidian")
    other = {**THEIRS, "id": "other", "content": "Another one.", "similarity": 0.87}
    answer = {"results": [THEIRS, other, 5], "count": 3}
    (refused,) = took(vault, json.dumps(answer), code=1)["failed"]
    assert refused["reason"].endswith("; --format memories reads it")
    for indent, new in ((None, 2), (2, 0)):  # on one line, or on many
        report = took(vault, json.dumps(answer, indent=indent), "--format", "memories", code=1)
        assert (report["new"], report["known"]) == (new, 2 - new)
        assert report["failed"] == [
            {"line": 1, "reason": "one of its results is not a JSON object"}
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_shape_of_memory_cli_comes_back(tmp_path: Path, kind: str) -> None:
    vault = made(tmp_path / "v", kind)
    # Its inbox ends for everything, and no longer once that is filed; here a memory has an end of its own.
    waiting = {**LINKED, "ExpiresAt": "2026-05-14T10:00:00Z"}
    lines = json.dumps(CLI) + "\n" + json.dumps(waiting)
    assert took(vault, lines, "--format", "memory-cli")["new"] == 2
    out = exported(vault, "--format", "memory-cli")
    back = {each["ID"]: each for each in map(json.loads, out.splitlines())}
    for theirs in (CLI, LINKED):
        digest = hashlib.sha256(str(theirs["Content"]).encode()).hexdigest()
        assert back[theirs["ID"]] == {**theirs, "ContentHash": digest}
    assert took(vault, lines, "--format", "memory-cli")["known"] == 2
    read = Vault(str(vault)).memories(category="preferences")[0]
    assert read["links"] == [LINKED["ID"]]


def test_a_line_of_another_program_is_refused_with_the_option_that_reads_it(tmp_path: Path) -> None:
    vault = made(tmp_path / "v", "obsidian")
    for shape, theirs in (("memories", THEIRS), ("memory-cli", CLI)):
        (refused,) = took(vault, json.dumps(theirs), code=1)["failed"]
        assert refused["reason"].endswith(f"; --format {shape} reads it")
        assert took(vault, json.dumps(theirs), "--format", shape)["new"] == 1


@each_case(
    "broken", [{}, {"content": ""}, {"content": 5}, {"content": "x", "created_at": "soon"}, {"content": "x", "deleted": "no"},
               {"content": "x", "decay_policy": "never"}, {"content": "x", "agent": ["a"]}, {"content": "x", "id": 7}]
)  # fmt: skip
def test_broken_lines_of_other_programs(tmp_path: Path, broken: dict[str, object]) -> None:
    vault = made(tmp_path / "v")
    report = took(
        vault, json.dumps(broken) + "\n" + json.dumps(THEIRS), "--format", "memories", code=1
    )
    assert ([each["line"] for each in report["failed"]], report["new"]) == ([1], 1)
