"""Lines of JSON as memories, from one vault into another: complete to the last byte, merged by id and text, whatever the
lines are; and texts that are cut at paragraphs and sentences, without a loss."""

import errno
import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_run import agent_on
from tests.cli_run import one_line, process
from tests.effort import takes_less
from tests.exchanged import FULL, KINDS, VALUES, exported, line, made, notes, on, put, took
from tests.laws import JSON, examples
from vaultmem import Vault
from vaultmem.errors import VaultmemError
from vaultmem.exchange import export, importing, lines
from vaultmem.exchange.incoming import chunks, clean
from vaultmem.exchange.lines import READERS, Exchanged, File
from vaultmem.notes.blocks import MAX_TOKENS, MIN_TOKENS, count_tokens

TEXT = st.text(max_size=20)


PATHS = st.sampled_from(["", "people/Anne.md", "archive/Old.md", "Ä/b c.MD", "x.md"])


MEMORIES = st.builds(
    Exchanged,
    st.sampled_from(["", "one", "550e8400-e29b-41d4-a716-446655440000"]),
    PATHS,
    st.booleans(),
    st.dictionaries(TEXT, JSON, max_size=4),
    TEXT,
    st.none() | st.builds(File, TEXT, st.binary(max_size=40)),
    st.just(()),
)


@given(MEMORIES)
def test_what_is_written_is_read(memory: Exchanged) -> None:
    line = lines.line_of(memory)
    assert "\n" not in line
    assert lines.memory(lines.parse_line(line.encode().decode())) == memory


@given(st.text(max_size=80) | MEMORIES.map(lines.line_of), st.sampled_from(["jsonl", *READERS]))
def test_any_line_is_a_memory_or_an_error(line: str, shape: str) -> None:
    try:
        found = lines.parse_line(line)
        made = lines.memory(found) if shape == "jsonl" else READERS[shape](found)
    except VaultmemError as error:
        said = str(error)
    else:
        said = made.content
        assert isinstance(made, Exchanged)
    assert isinstance(said, str)


@given(st.text(max_size=40) | st.lists(st.sampled_from(["..", ".", "/", "a", "\\", "archive", "entries", ".md", "\0", "%2e"])).map("".join))  # fmt: skip
def test_a_path_stays_in_its_folder(path: str) -> None:
    try:
        inner = lines.inner_path(path)
    except VaultmemError:
        return
    assert os.path.normpath(inner) == inner
    assert not os.path.isabs(inner)
    assert ".." not in inner.split("/")
    assert inner.lower().endswith(".md")
    assert not any(part.startswith(".") for part in inner.split("/"))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_none(number: float) -> None:
    line = lines.json_line({"a": [number, 1.5]})
    assert json.loads(line, parse_constant=pytest.fail) == {"a": [None, 1.5]}


def test_half_a_character_is_written_as_an_escape() -> None:
    line = lines.json_line({"a": "é\ud800"})
    assert json.loads(line.encode()) == {"a": "é\ud800"}


def test_go_and_its_files_spell_fields_differently() -> None:
    one = READERS["memory-cli"]({"ID": "x", "Content": "text", "CreatedAt": "2026-05-07T10:00:00.123456789+08:00", "AccessCount": 2})  # fmt: skip
    other = READERS["memory-cli"]({"id": "x", "content": "text", "created_at": "2026-05-07T02:00:00Z", "access_count": 2})  # fmt: skip
    assert one == other
    assert one.properties["created_at"] == "2026-05-07T02:00:00Z"
    never = READERS["memory-cli"](
        {"id": "x", "content": "text", "UpdatedAt": "0001-01-01T00:00:00Z", "Tags": None}
    )
    assert "updated_at" not in never.properties


# --- cutting a text

LONG = "The boiler in the cellar was serviced in May, and it took the whole day. "


def test_a_text_is_cut_at_its_paragraphs_headings_and_sentences() -> None:
    assert chunks("One.\n\nTwo.\n\nThree.") == ["One.\n\nTwo.\n\nThree."]
    assert chunks("One.\n\n#tag is none") == ["One.\n\n#tag is none"]
    headed = ["# A\n\n## B\n\nOne.\n\nTwo.", "## C\n\nThree."]
    assert chunks("\n\n".join(headed)) == headed
    for text, end in (
        (LONG * 40, "day."),
        ("锅炉在五月份做了保养，用了整整一天的时间。" * 40, "。"),
    ):
        found = chunks(text.strip())
        assert len(found) > 1
        assert all(part.endswith(end) for part in found)
        assert all(MIN_TOKENS <= count_tokens(part) <= MAX_TOKENS for part in found)
    code = "```python\nx = 1\n\ny = 2\n```"
    assert code in chunks(clean(f"{LONG}\n\n{code}\n\n{LONG * 3}"))[0]


@given(
    st.lists(
        st.sampled_from(["word ", "A. ", "B!\n", "\n\n", "```\n", "锅炉。", "x" * 900, " "]),
        max_size=60,
    )
)
def test_no_word_is_lost_and_no_part_is_too_long(parts: list[str]) -> None:
    text = clean("".join(parts))
    found = chunks(text)
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
    assert all(count_tokens(part) <= MAX_TOKENS for part in found)


def test_it_takes_time_in_proportion() -> None:
    for hostile in ("`" * 100_000, "a" * 100_000, ". " * 50_000, "\n" * 100_000, "```\n" * 25_000):
        assert takes_less(2, lambda text=hostile: chunks(clean(text)))


pytestmark = pytest.mark.usefixtures("without_a_model")


ODD = {
    "knowledge/Comments.md": b"---\n# why\nid: odd-1   # mine\nscope:   global\ntags:\n    - a\n---\n\n\nText  \n\n",
    "knowledge/Carriage.md": b"---\r\nid: odd-2\r\nscope: global\r\n---\r\nOne\r\nTwo\r\n",
    "knowledge/Mark.md": b"\xef\xbb\xbf---\nid: odd-3\n---\nText",
    "people/No end.md": b"---\nid: odd-4\ncreated_at: 2020-01-01\n---\nno line end",
    "people/Nobody's.md": b"A file of mine, with no properties.\n",
    "lessons/Wide.md": "---\nid: odd-5\n---\nWide text\n".encode("utf-16"),
    "lessons/Nan.md": b"---\nid: odd-6\nx: .nan\ny: .inf\nz: 1e400\n---\nNumbers\n",
    "lessons/sub/Deeper.md": b"---\nid: odd-7\n'quoted key': 'v'\nlong: >\n  folded\n  text\n---\nDeep\n",
    "lessons/Same.md": b"---\nid: odd-8\n---\nThe same text.\n",
    "lessons/Same again.md": b"---\nid: odd-9\n---\nThe same text.\n",
    "Beside.md": b"---\nid: odd-10\n---\nIn no folder of a category.\n",
    "archive/Gone.md": b"---\nid: odd-11\ndeleted_at: 2026-01-01T00:00:00Z\ncategory: people\n---\nGone.\n",
    "people/Empty.md": b"---\nid: odd-12\n---\n",
    "people/Copied.md": b"---\nid: odd-7\n---\nIt claims the id of another.\n",
    "people/Full.md": FULL.encode(),
}  # fmt: skip

ODD_PAGES = {
    "people/Anne.md": b"id:: ls-1\nscope:: global\ntags:: a, [[b c]]\n\n- Anne drinks tea.\n\t- Green.\n",
    "people/Bob.md": b"id::   ls-2\r\nmine:: 5\r\n\r\n* Bob\r\n",
    "people/Yaml.md": b"---\nid: ls-3\n---\n\n- A page with YAML.\n",
    "knowledge/Text.md": b"id:: ls-4\n\nno blocks at all",
    "archive/Old.md": b"id:: ls-5\ndeleted-at:: 2026-01-01T00:00:00Z\n\n- Old\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_into_an_empty_vault_every_byte_comes_back(tmp_path: Path, kind: str) -> None:
    one, other = made(tmp_path / "one", kind), made(tmp_path / "other", kind)
    put(one, ODD if kind == "obsidian" else ODD_PAGES)
    for text in ("Anne prefers trains.", "We chose Postgres because of the audit."):
        Vault(str(one)).write(text, tags=["x"], agent="claude", source="s")
    before = notes(one)
    report = took(other, exported(one, "--include-archived"))
    assert notes(other) == before
    assert (report["new"], report["failures"]) == (len(before), 0)
    again = took(other, exported(one, "--include-archived"))
    assert (again["new"], again["known"]) == (0, len(before))
    lines = [exported(vault, "--include-archived").splitlines() for vault in (one, other)]
    # Of two files with one id the older file keeps it; which one that is differs where both are new.
    ours, theirs = ([each for each in some if '"id": "odd-7"' not in each] for some in lines)
    assert ours == theirs
    assert len(ours) >= len(before) - 2


def test_notes_that_are_only_a_title_are_all_imported(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", KINDS[0]), made(tmp_path / "other", KINDS[0])
    put(one, {"people/Bob is allergic to nuts.md": b"---\nid: odd-1\n---\n"})
    put(other, {"people/Anne likes tea.md": b"---\nid: odd-2\n---\n"})
    assert took(other, exported(one))["new"] == 1
    assert took(other, exported(one))["known"] == 1


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
KEYS = st.sampled_from(["tags", "source", "mine", "due", "aliases", "a b", "X-Y"])


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(
        st.tuples(st.dictionaries(KEYS, VALUES, max_size=4), TEXTS, st.binary(max_size=8)),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_whatever_a_memory_holds_comes_back(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[dict[str, Any], str, bytes]]
) -> None:
    root = tmp_path_factory.mktemp("any")
    one, other = made(root / "one"), made(root / "other")
    heads = [
        json.dumps({**properties, "id": f"n{number}"})
        for number, (properties, _, _) in enumerate(files)
    ]
    put(one, {f"people/{number}a.md": f"---\n{heads[number]}\n---\n{text}".encode() + tail
              for number, (_, text, tail) in enumerate(files)})  # fmt: skip
    lines = exported(one)
    report = took(other, lines)
    assert report["failures"] == 0, report
    there = notes(one)
    assert all(there[name] == data for name, data in notes(other).items())
    assert len(lines.splitlines()) <= len(there)
    assert len(notes(other)) == report["new"] == lines.count("\n")


LISTS = {
    "tags": ["one", "two words", "a, b"], "aliases": ["An", "Other"], "links": ["[[Tea]]", "[[Ann, 2]]"], "mine": ["x", "y"],
    "related": ["[[Tea]]", "[[Ann, 2]]"], "one": ["x"], "empty": [], "numbers": [1, 2.5, True], "deep": [["a"], {"b": [1]}],
    "odd": ["[[a", "`x`", "k:: v", '"q"', "", "#t", "1"], "text": "x, y", "looks": '["x"]', "map": {"a": ["b"]},
}  # fmt: skip


def test_lists_stay_lists_from_obsidian_to_logseq_and_back(tmp_path: Path) -> None:
    one, other, third = (
        made(tmp_path / "one"),
        made(tmp_path / "other", "logseq"),
        made(tmp_path / "third"),
    )
    head = json.dumps({"id": "lists-1", **LISTS}, ensure_ascii=False)
    put(one, {"people/Lists.md": f"---\n{head}\n---\nText.\n".encode()})
    first = exported(one)
    assert {**json.loads(first)["properties"], "id": 0} == {**LISTS, "id": 0}
    took(other, first)
    (page,) = notes(other).values()
    assert (
        b"tags:: one, two words, [[a, b]]\nalias:: An, Other\nlinks:: [[Tea]], [[Ann, 2]]\n" in page
    )
    took(third, exported(other))
    for vault in (other, third):
        assert json.loads(exported(vault))["properties"] == json.loads(first)["properties"]


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["mine", "due", "x", "related"]), VALUES.filter(lambda value: value is not None), max_size=3))  # fmt: skip
def test_whatever_a_property_holds_is_the_same_in_logseq(
    tmp_path_factory: pytest.TempPathFactory, properties: dict[str, Any]
) -> None:
    vault = made(tmp_path_factory.mktemp("any") / "v", "logseq")
    given_ = {"id": "one", **properties}
    took(vault, line(properties=given_))
    back = json.loads(exported(vault))["properties"]
    assert back == given_


def test_lines_are_the_oldest_first_and_filtered(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    put(vault, ODD)
    lines = [json.loads(each) for each in exported(vault).split("\n")[:-1]]
    assert not any(each["archived"] for each in lines)
    moments = [
        each["properties"].get("created_at") for each in lines if each["id"] in ("odd-4", "full-1")
    ]
    assert moments == ["2020-01-01", "2026-01-02T03:04:05Z"]
    assert lines[0]["id"] == "odd-4"
    people = [
        json.loads(each)["path"]
        for each in exported(vault, "--category", "people").split("\n")[:-1]
    ]
    assert sorted(people) == sorted(name for name in ODD if name.startswith("people/"))
    (full,) = exported(vault, "--scope", "user:anne").split("\n")[:-1]
    assert json.loads(full)["properties"]["mine"] == {"a": [1, 2.5, None, True], "é": "中文"}
    assert "中文" in full
    assert on(vault, "export", "--scope", "nobody").code == 2


def test_a_file_that_cannot_be_read_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    vault = made(tmp_path / "v")
    put(
        vault,
        {
            "people/Escape.md": b'---\nid: x\nhalf: "\\ud800"\n---\nHalf a letter\n',
            "people/One.md": b"One.\n",
        },
    )
    ended = on(vault, "export")
    assert [json.loads(each)["path"] for each in ended.out.splitlines()] == ["people/One.md"]
    assert "1 file that cannot be read left out" in one_line(ended)


def test_a_file_is_written_whole_privately_and_not_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = PermissionError(errno.EPERM, os.strerror(errno.EPERM))  # as on a memory card
    monkeypatch.setattr(os, "link", Mock(side_effect=denied))
    vault, target = made(tmp_path / "v"), tmp_path / "out.jsonl"
    Vault(str(vault)).write("Anne prefers trains.")
    ended = on(vault, "export", "--output", str(target))
    assert (ended.code, ended.out) == (0, "")
    assert "1 memory in" in ended.err
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_text() == exported(vault)
    target.write_text("mine")
    refused = on(vault, "export", "--output", str(target))
    assert (refused.code, target.read_text()) == (1, "mine")
    assert "--force" in one_line(refused)
    assert on(vault, "export", "--force", "--output", str(target)).code == 0
    assert target.read_text() == exported(vault)
    assert on(vault, "export", "--output", str(tmp_path / "no" / "x")).code == 1
    assert sorted(os.listdir(tmp_path)) == ["out.jsonl", "v"]
    assert on(made(tmp_path / "w"), "import", str(target)).data["new"] == 1
    assert "cannot be read" in one_line(on(vault, "import", str(tmp_path / "gone")))


def test_a_file_without_an_end_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = made(tmp_path / "v")
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        assert "is not a regular file" in one_line(on(vault, "import", str(place)))
    with (tmp_path / "large").open("wb") as file:
        file.truncate(export.LARGEST + 1)  # sparse
    assert "more than 1 GB" in one_line(on(vault, "import", str(tmp_path / "large")))
    monkeypatch.setattr(export, "LARGEST", 10)
    assert "more than 1 GB" in one_line(on(vault, "import", "-", stdin=b"{}\n" * 4))


def test_a_full_disk_is_no_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, lines = made(tmp_path / "v"), tmp_path / "lines"
    lines.write_bytes(b"{}\n")
    monkeypatch.setattr(os, "fdopen", lambda *_: (tmp_path / "full").open("wb"))
    (tmp_path / "full").symlink_to("/dev/full")
    assert "cannot be written: No space left" in one_line(on(vault, "import", str(lines)))


def test_as_processes_through_a_pipe_and_by_the_sync_agent(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other")
    put(one, ODD)
    with agent_on(one), agent_on(other):
        out = process("export", "--include-archived", "--vault", str(one))
        assert out.code == 0, out.err
        ended = process("import", "-", "--json", "--vault", str(other), stdin=out.out.encode())
        assert (ended.code, ended.data["failures"]) == (0, 0), ended.err
        assert notes(other) == notes(one)
    assert not list((Path(Vault(str(other)).state.path(importing.FOLDER))).iterdir())


def test_many_go_in_batches_to_be_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH", 4)
    monkeypatch.setattr("vaultmem.exchange.export.PAGE", 500)
    vault, other = made(tmp_path / "v"), made(tmp_path / "other")
    lines = [line(f"id-{number}", f"people/{number}.md", f"Text {number}.") for number in range(10)]
    ended = on(vault, "import", "-", "--by", "robot", stdin="".join(lines).encode())
    assert (ended.code, ended.data["new"]) == (0, 10)
    assert "vaultmem undo --last, 3 times" in ended.err
    assert [len(each["files"]) for each in Vault(str(vault)).history()] == [2, 4, 4]
    assert took(other, exported(vault))["new"] == 10
    assert "take" not in on(other, "import", "-", stdin=line("x", "people/x.md", "x").encode()).err
    for left in (8, 4, 0):
        assert on(vault, "undo", "--last").code == 0
        assert on(vault, "list").data["total"] == left
    Vault(str(other)).undo(name="you", since="1h")
    assert Vault(str(other)).memories() == []


def test_the_files_are_compared_once_for_all_pages(
    opened: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultmem.exchange.export.PAGE", 1)
    texts = [opened.write(f"Fact {number} of the river")["path"] for number in range(4)]
    compared = Mock(wraps=opened.store().touched_all)
    monkeypatch.setattr(opened.store(), "touched_all", compared)
    assert len([*opened.export_lines()]) == len(texts)
    compared.assert_called_once()
    (Path(opened.path) / texts[0]).unlink()
    assert len([*opened.export_lines()]) == len(texts) - 1
