"""The commands of memories in real vaults: what they say, what they write, and what they refuse."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.agent_run import agent_on
from tests.cli_run import Ran, one_line, process, ran, tree_hash
from tests.index_dump import synced
from tests.test_cli import GOLDEN, golden, shape
from tests.test_output import on_terminal
from vaultmem import Vault
from vaultmem.commands.rendering import is_data_waiting
from vaultmem.history.commits import FileChange, Record
from vaultmem.memories.arguments import Arguments
from vaultmem.memories.overviews import standing
from vaultmem.vault.identity import MARKER

KINDS = ("obsidian", "plain", "logseq")
ONE, OTHER = "abcd1111-0000-4000-8000-000000000001", "abcd2222-0000-4000-8000-000000000002"
Make = Callable[[str], Path]

GUIDE = GOLDEN.parents[1] / "docs" / "guide"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A small vault of each kind, with a note of its own."""

    def made(kind: str) -> Path:
        folder = tmp_path / f"{kind} vault"
        notes = folder / ("pages" if kind == "logseq" else "Notes")
        notes.mkdir(parents=True)
        if kind == "obsidian":
            (folder / ".obsidian").mkdir()
        if kind == "logseq":
            (folder / "logseq").mkdir()
            (folder / "logseq" / "config.edn").write_text("{:meta/version 1}\n")
        (notes / "Anne.md").write_text("- Anne is my sister. [[Bicycle]]\n")
        (notes / "Bicycle.md").write_text("- The blue one.\n")
        return folder

    return made


@pytest.fixture(autouse=True)
def without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What dreams decide by words alone is the same on every machine."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")


@pytest.fixture
def vault(make: Make) -> Path:
    return make("obsidian")


def on(vault: Path, *words: str, given: bytes = b"") -> Ran:
    shape = () if "--format" in words else ("--json",)
    return ran(words[0], "--vault", str(vault), *shape, *words[1:], given=given)


def done(vault: Path, *words: str, given: bytes = b"") -> Any:
    """What a command gives as JSON."""
    ended = on(vault, words[0], "--format", "json", *words[1:], given=given)
    assert ended.code == 0, ended.err
    return ended.data


def said(vault: Path, *words: str) -> Ran:
    """What a command tells a person."""
    ended = on(vault, words[0], "--format", "text", *words[1:])
    assert ended.code == 0, ended.err
    return ended


def refused(vault: Path, *words: str, code: int = 1) -> str:
    """The one line of an error, which is the same in both formats."""
    plain = on(vault, words[0], "--format", "text", *words[1:])
    line = one_line(plain)
    assert (plain.code, plain.out) == (code, "")
    assert line.startswith("vaultmem: ")
    ended = on(vault, words[0], "--format", "json", *words[1:])
    assert (ended.code, ended.out) == (code, "")
    assert json.loads(one_line(ended)) == {"error": line.removeprefix("vaultmem: ")}
    return line


def files(vault: Path) -> list[str]:
    """All files of the memory folder but the pages and views that are made of others."""
    return sorted(
        path.relative_to(vault).as_posix()
        for path in (vault / "vaultmem").rglob("*")
        if path.is_file() and path.name not in (MARKER, "Memory.md") and path.suffix != ".base"
    )


def outside(vault: Path) -> str:
    """A hash over all that is not ours to write."""
    return "".join(tree_hash(path) for path in sorted(vault.iterdir()) if path.name != "vaultmem")


# --- all verbs, in all kinds of vaults


@pytest.mark.parametrize("kind", KINDS)
def test_a_memory_from_its_beginning_to_its_end_and_back(make: Make, kind: str) -> None:
    vault = make(kind)
    before = outside(vault)
    made = done(
        vault, "write", "Anne prefers trains to planes", "--tags", "travel,anne", "--by", "claude"
    )
    path = "vaultmem/inbox/Anne prefers trains to planes.md"
    assert made["created"] is True
    assert (made["path"], made["phase"], made["category"]) == (path, "inbox", "inbox")
    assert done(vault, "read", made["id"][:8])["content"].strip() == "Anne prefers trains to planes"
    assert done(vault, "get", "Anne prefers", "trains to planes")["access_count"] == 2
    other = done(
        vault,
        "create",
        "Anne’s bicycle is blue",
        "--category",
        "knowledge",
        "--decay",
        "reinforceable",
    )
    assert other["path"] == "vaultmem/knowledge/Anne’s bicycle is blue.md"
    assert done(vault, "tag", made["id"], "#sister", "--remove", "anne")["tags"] == [
        "travel",
        "sister",
    ]
    assert done(vault, "link", made["id"], other["id"])["changed"] is True
    assert done(vault, "read", made["id"])["links"] == [other["id"]]
    assert done(vault, "unlink", other["path"], made["id"])["changed"] is True
    assert done(vault, "reinforce", other["id"])["confidence"] == 1.0
    filed = done(vault, "upgrade", made["id"], "--category", "preferences")
    assert filed["path"] == "vaultmem/preferences/Anne prefers trains to planes.md"
    listed = done(vault, "list", "--tags", "travel")
    assert [one["id"] for one in listed["memories"]] == [made["id"]]
    gone = done(vault, "delete", made["id"], "--by", "claude")
    assert gone == {"id": made["id"], "deleted": True, "title": made["title"],
                    "path": "vaultmem/archive/Anne prefers trains to planes.md"}  # fmt: skip
    assert done(vault, "list")["count"] == 1
    assert done(vault, "list", "--deleted")["memories"][0]["id"] == made["id"]
    assert "was deleted" in refused(vault, "read", made["id"])
    back = done(vault, "restore", made["id"])
    assert (back["path"], back["deleted"], back["tags"]) == (
        filed["path"],
        False,
        ["travel", "sister"],
    )
    assert files(vault) == sorted([filed["path"], other["path"]])
    assert outside(vault) == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_is_a_page_of_its_editor(make: Make, kind: str) -> None:
    vault = make(kind)
    made = done(
        vault,
        "write",
        "Packing list\n\n- tent\n- map",
        "--category",
        "habits",
        "--project",
        "walks",
    )
    text = (vault / made["path"]).read_text("utf-8")
    if kind == "logseq":
        assert text.startswith(f"category:: habits\nproject:: walks\nvaultmem:: {made['id']} ")
        assert "- Packing list\n" in text
    else:
        assert text.startswith(f"---\ncategory: habits\nproject: walks\nvaultmem: {made['id']} ")
        assert text.endswith("Packing list\n\n- tent\n- map\n")
    assert done(vault, "read", "[[Packing list]]")["project"] == "walks"


def test_json_shapes(vault: Path) -> None:
    """The shapes that programs rely on, all in one place."""
    found: dict[str, Any] = {}

    def keep(name: str, *words: str) -> Any:
        given = done(vault, *words)
        found[name] = shape(given)
        return given

    made = keep(
        "write",
        "write",
        "Anne prefers trains to planes",
        "--tags",
        "travel",
        "--category",
        "knowledge",
        "--decay",
        "reinforceable",
    )
    keep("write again", "write", "Anne prefers trains to planes")
    keep("write --dry-run", "write", "Tea at four", "--dry-run")
    other = done(
        vault,
        "write",
        "Decision: we chose PostgreSQL over MySQL. See [[Anne prefers trains to planes]].",
    )
    keep("read", "read", made["id"])
    keep("list", "list")
    keep("tag", "tag", made["id"], "rail")
    keep("link", "link", made["id"], other["id"])
    keep("unlink", "unlink", made["id"], other["id"])
    keep("reinforce", "reinforce", made["id"])
    keep("resolve-links", "resolve-links")
    keep("dream", "dream", "--dry-run")
    keep("dream again", "dream", "--level", "2")
    keep("expire", "expire")
    keep("decay", "decay")
    keep("consolidate", "consolidate")
    keep("delete", "delete", other["id"])
    keep("restore", "restore", other["id"])
    history = keep("history", "history")
    keep("diff", "diff", history["history"][0]["commit"])
    keep("undo --dry-run", "undo", "--last", "--dry-run")
    keep("undo", "undo", "--last")
    keep("review", "review")
    status = done(vault, "status")
    found["status"] = shape(status["memories"])
    golden("memories.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")


VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f-]{27})?\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\dZ)?)?"), "WHEN"),
    (re.compile(r"(importance\s*:? ?)\d\.\d+"), r"\1#"),
    (re.compile(r"(?<= — ).*\(\d\.\d\d\)$", re.MULTILINE), "SIGNALS"),
)
STORY = """\
write Anne prefers trains to planes --category preferences --tags travel --by claude
write "Decision: we chose PostgreSQL over MySQL" --agent claude
write Anne prefers trains to planes
list --category preferences
read Anne prefers trains to planes
tag "Anne prefers trains to planes" rail --dry-run
dream --dry-run
dream
delete Anne prefers trains to planes
history
undo --last
list --category preferences
"""


def test_what_a_person_sees(vault: Path) -> None:
    synced(vault)
    shown = []
    for line in STORY.splitlines():
        ended = said(vault, *shlex.split(line))
        told = "".join(f"! {one}\n" for one in ended.err.splitlines()) + ended.out
        shown.append(f"$ vaultmem {line}\n{told}")
    golden("memories.txt", plainly("\n".join(shown)))
    assert (GOLDEN / "memories.txt").exists()


def plainly(text: str) -> str:
    for pattern, put in VOLATILE:
        text = pattern.sub(put, text)
    return "\n".join(_without_context(text.split("\n")))


def _without_context(lines: list[str]) -> Iterator[str]:
    """Of a diff, what changes: how far it reaches depends on whether a second has passed."""
    inside = False
    for line in lines:
        inside = line.startswith("@@") or (inside and line[:1] in (" ", "+", "-"))
        if not inside or (line[:1] in ("+", "-") and line[1:10] != "vaultmem:"):
            yield line


def test_the_story_of_the_guide_is_true(vault: Path) -> None:
    """Its commands, run one after the other, print its lines."""
    story = (
        GUIDE.joinpath("memories.md")
        .read_text("utf-8")
        .partition("<!-- transcript: memories -->\n```text\n")[2]
        .partition("```")[0]
    )
    ids: dict[str, str] = {}  # those of the readme, and what they are now
    steps = re.findall(r"^\$ vaultmem (.+)\n((?:.+\n)*)", story, re.MULTILINE)
    assert len(steps) > 5
    for command, told in steps:
        words = [ids.get(word, word) for word in shlex.split(command)]
        shown = said(vault, *words).out
        for line in told.splitlines():
            assert line.strip() == "…" or f"{plainly(line)}\n" in plainly(shown), line
        for before, now in zip(
            *(re.findall(r"\b[0-9a-f]{8}\b", text) for text in (told, shown)), strict=False
        ):
            ids |= {before: now, before[:4]: now[:4]}


def test_the_python_of_the_guide_remembers(
    vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = GUIDE.joinpath("python.md").read_text("utf-8")
    code = re.findall(r"```python\n(.+?)```", guide, re.DOTALL)[1]
    vault.rename(vault.parent / "notes")
    monkeypatch.setenv("HOME", str(vault.parent))
    exec(compile(code, "python.md", "exec"), {"Vault": Vault})
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "Anne prefers trains to planes 1.0"
    assert "vaultmem/preferences/Anne prefers trains to planes.md" in told[1]


# --- what is written


TEXTS = {
    "path": "../../x",
    "device": "CON",
    "long": "word " * 60,
    "longer": "x" * 300,
    "emoji": "🎉🎉🎉",
    "right to left": "\u202eevil\u202c and \u05e9\u05dc\u05d5\u05dd",
    "yaml": "key: [value, {a: b}]\n- x: 'y",
    "rules": "---\nid: hacked\n---\nbody --- here",
    "inner rules": "first\n\n---\n\nlast",
    "properties": "id:: hacked\nphase:: gone\n\ntext",
    "link": "see [[../../etc/passwd|x]] #tag",
    "fence": "```\n[[no link]]\n```",
    "chinese": "用户喜欢深色模式。",
    "date": "2026-11-22",
    "dots": "...",
    "windows": "a\r\nb\r\n",
    "dash": "-",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_written_comes_back(make: Make, kind: str) -> None:
    """Odd texts, piped in: each is a file in the inbox under a harmless name, and says what it said."""
    vault = make(kind)
    before = outside(vault)
    for number, text in enumerate(TEXTS.values()):
        made = done(vault, "write", given=text.encode())
        assert made["created"], text
        folder, _, name = made["path"].rpartition("/")
        assert folder == "vaultmem/inbox"
        assert len(name) <= 120
        assert not [
            c
            for c in name
            if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in '\\/:*?"<>|#^[]\u202e'
        ]
        assert name.split(".")[0].strip().upper() not in ("", "CON")
        found = done(vault, "read", made["id"])
        assert found["id"] == made["id"] != "hacked"
        wanted = text.replace("\r\n", "\n")
        assert " ".join(found["content"].split()) == " ".join(wanted.split())
        assert len(files(vault)) == number + 1
    assert outside(vault) == before


def test_words_and_options_stand_in_any_order(vault: Path) -> None:
    made = done(vault, "write", "tea", "--tags", "a", "at", "--agent=claude", "four")
    assert (made["content"].strip(), made["tags"], made["agent"]) == (
        "tea at four",
        ["a"],
        "claude",
    )
    assert done(vault, "write", "-5 degrees", "outside")["content"].strip() == "-5 degrees outside"
    assert (
        done(vault, "write", "--", "--tags", "is an option")["content"].strip()
        == "--tags is an option"
    )
    assert done(vault, "write", "---\nrule\n---")["content"].strip() == "---\nrule\n---"
    assert (
        done(vault, "write", "-", given="aus der Röhre\n".encode())["content"].strip()
        == "aus der Röhre"
    )
    assert (
        done(vault, "write", given=b"\xef\xbb\xbfwith a mark")["content"].strip() == "with a mark"
    )
    assert "--catgory" in refused(vault, "write", "tea", "--catgory", "date", code=2)


def test_at_a_terminal_there_must_be_words(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultmem.commands.rendering.is_terminal", lambda _: True)
    assert "what is to be remembered?" in refused(vault, "write", code=2)
    assert not (vault / "vaultmem").exists()


def test_the_same_and_the_similar_are_told(vault: Path) -> None:
    text = (
        "The gauge at the old bridge froze twice last winter and had to be thawed with warm water"
    )
    first = done(vault, "write", text)
    again = on(vault, "write", "--format", "text", text)
    assert (again.code, again.out) == (0, "")
    assert f"the same text is there already: {first['title']} ({first['id'][:8]})" in again.err
    assert done(vault, "write", text)["duplicate_of"] == first["id"]
    near = on(vault, "write", "--format", "text", text + " by hand")
    assert near.out.startswith("written: ")
    assert f"similar to {first['title']}" in near.err
    assert len(files(vault)) == 2
    replaced = done(vault, "write", "It froze three times", "--replaces", first["id"][:8])
    assert replaced["created"]
    assert f"vaultmem/archive/{first['title']}.md" in files(vault)


def test_a_dry_run_changes_no_byte(vault: Path) -> None:
    made = done(vault, "write", "We decided to use PostgreSQL", "--decay", "reinforceable")
    done(vault, "write", "Anne likes tea")
    before = tree_hash(vault)
    for words in (
        ("write", "More"), ("delete", made["id"]), ("tag", made["id"], "x"), ("upgrade", made["id"]), ("upgrade",),
        ("link", made["id"], "Anne likes tea"), ("reinforce", made["id"]), ("resolve-links",), ("dream", "--level", "3"),
        ("expire",), ("decay",), ("consolidate",), ("undo", "--last"),
    ):  # fmt: skip
        report = done(vault, *words, "--dry-run")
        assert report["dry_run"] is True, words
        assert all("diff" in change for change in report["changes"])
        assert tree_hash(vault) == before, words
    shown = said(vault, "tag", made["id"], "x", "--dry-run")
    assert "\n+tags: [x]" in shown.out.replace("tags:\n+  - x", "tags: [x]")
    assert "nothing was done yet" in shown.err


def test_a_job_changes_no_more_than_it_may(vault: Path) -> None:
    for text in (
        "Decision: we chose PostgreSQL over MySQL",
        "Decision: we chose the van over the train",
        "Decision: we chose tea over coffee",
    ):
        done(vault, "write", text)
    first = said(vault, "dream", "--limit", "2")
    assert (
        len([line for line in first.out.splitlines() if line.startswith("filed under decisions: ")])
        == 2
    )
    assert "1 more waits: run it again" in first.err
    assert done(vault, "dream")["counts"] == {"move": 1}
    assert done(vault, "dream")["changes"] == []


# --- which memory is meant


def two(vault: Path) -> None:
    """Two memories whose ids begin alike."""
    for id_, title in ((ONE, "First"), (OTHER, "Second")):
        file = vault / "vaultmem" / "knowledge" / f"{title}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"---\nid: {id_}\nphase: organized\ncategory: knowledge\nscope: global\n"
            f"created_at: 2026-11-01T00:00:00Z\nupdated_at: 2026-11-01T00:00:00Z\n---\n\n{title} text\n"
        )


def test_a_memory_is_meant_by_id_title_or_path(vault: Path) -> None:
    two(vault)
    for given in (
        ONE,
        "abcd1",
        "first",
        "[[First]]",
        "vaultmem/knowledge/First.md",
        "knowledge/First",
    ):
        assert done(vault, "read", given)["id"] == ONE, given
    unknown = refused(vault, "read", "ffff-unknown")
    assert "Memory not found" in unknown
    assert "could mean 2 memories" in refused(vault, "delete", "abcd")
    assert "Memory not found" in refused(vault, "tag", "abc", "x")
    for command in ("read", "get", "delete", "restore", "reinforce"):
        assert "ID is missing" in refused(vault, command, code=2)
        assert "ID is empty" in refused(vault, command, " ", code=2)
    assert "Memory not found" in refused(vault, "read", "../../etc/passwd")
    assert "Memory not found" in refused(vault, "read", "x" * 5000)
    assert "Memory not found" in refused(vault, "read", "a\x1b[31m\x00b")
    assert "not deleted" in refused(vault, "restore", ONE)
    assert "itself" in refused(vault, "link", ONE, "First")


def test_links_and_backlinks_know_ids(vault: Path) -> None:
    two(vault)
    done(vault, "link", ONE, OTHER)
    synced(vault)
    assert done(vault, "backlinks", ONE)["note"] == "vaultmem/knowledge/First.md"
    assert (
        done(vault, "backlinks", "abcd2")["backlinks"][0]["source"] == "vaultmem/knowledge/First.md"
    )
    assert done(vault, "links", "ABCD1")["links"][0]["target"] == "vaultmem/knowledge/Second.md"
    assert done(vault, "related", "abcd1")["note"] == "vaultmem/knowledge/First.md"
    assert "several notes" in refused(vault, "links", "abcd")
    assert "no note is called" in refused(vault, "links", "abc")
    assert "no note is called" in refused(vault, "links", "%%%%")
    (vault / "abcd1.md").write_text("a note of that name comes first")
    synced(vault)
    assert done(vault, "links", "abcd1")["note"] == "abcd1.md"


NO_SENSE = {
    "tag x": "name a tag",
    "link x": "required: OTHER",
    "undo": "name one of",
    "undo --last --by x --since 1h": "name one of",
    "undo --by x": "go together",
    "undo abcd --since 1h": "go together",
    "dream --level 4": "invalid choice",
    "dream --limit 0": "limit",
    "list --limit 0": "--limit must be from 1",
    "list --min-confidence 2": "--min-confidence must be",
    "history --limit 0": "--limit must be from 1",
    "recall x --as-of whenever": "--as-of must be",
    "recall x --top-k 0": "--top-k must be",
    "upgrade --category people": "goes with one memory",
    "upgrade x --limit 3": "goes without an ID",
    "review --accept": "name the proposal",
    "review x --accept --reject": "not allowed with",
    "diff": "required: COMMIT",
    "list --category xyzzy": "--category must be one of",
    "list --phase solid": "--phase must be one of",
    "list --from tomorrowish": "--from must be a day",
    "list --to 'every day'": "--to must be a day",
    "history --since ages": "--since must be",
    "write Another --expires someday": "--expires must be",
}
NOT_THERE = {
    "history nobody": "Memory not found",
    "diff zzzz": "zzzz",
    "undo zzzz": "zzzz",
    "upgrade x --category inbox": "another category",
    "review zzzz --accept": "no proposal has the id",
}


def test_what_makes_no_sense_or_does_not_exist_is_said_in_one_line(vault: Path) -> None:
    done(vault, "write", "x")
    synced(vault)
    for line, reason in NO_SENSE.items():
        assert reason in refused(vault, *shlex.split(line), code=2), line
    for line, reason in NOT_THERE.items():
        assert reason in refused(vault, *shlex.split(line)), line


# --- the past


def test_an_undo_says_what_it_did_or_which_file_refused_it(vault: Path) -> None:
    made = done(vault, "write", "Anne prefers trains")
    commit = done(vault, "history")["history"][0]["commit"]
    first = said(vault, "undo", commit)
    assert "1 file archived" in first.err
    assert "as before" not in first.err
    again = said(vault, "undo", commit)
    assert (again.out, again.err) == ("", "vaultmem: already undone: nothing was changed\n")
    made = done(vault, "write", "Anne prefers planes")
    commit = done(vault, "history")["history"][0]["commit"]
    (vault / made["path"]).write_text(f"---\nid: {made['id']}\nx: [\n---\nAnne\n")
    shown = on(vault, "undo", "--format", "text", commit)
    assert f"nothing was undone: {made['path']} is another file" in one_line(shown)


def test_what_changed_tells_neither_of_reads_nor_of_what_was_undone() -> None:
    inbox, filed = "m/inbox/A.md", "m/people/A.md"
    dream = _commit("dream 1: 1 changed", FileChange(inbox, filed, "people: Anne"))
    back = _commit("undo: dream 1: 1 changed", FileChange(filed, inbox, "undo"), dream)
    twice = _commit("redo: dream 1: 1 changed", FileChange(inbox, filed, "redo"), back)
    read = _commit("dream 2: 1 changed", FileChange(inbox, inbox, "read 3 times"))
    wrote = _commit("write A", FileChange(None, inbox, "written"))
    assert [one for one, _ in standing([read, back, dream, wrote])] == [wrote]
    assert [one for one, _ in standing([twice, back, dream, wrote])] == [dream, wrote]
    both = _commit("undo: write A", FileChange(inbox, "m/archive/A.md", "undo"), wrote)
    assert standing([both, wrote]) == []
    old = _commit("undo: tag B", FileChange("m/inbox/B.md", "m/inbox/B.md", "undo"), dream)
    assert [one for one, _ in standing([old, wrote])] == [old, wrote]


def _commit(why: str, change: FileChange, *undone: Record) -> Record:
    undoes = tuple(one.commit for one in undone)
    return Record(why, 0.0, "dream", "job", why, (change,), undoes=undoes)


# --- texts from elsewhere


@pytest.mark.parametrize("command", [("write", "with words"), ("ingest", "--text", "with words")])
def test_words_and_a_pipe_are_told_apart(vault: Path, command: tuple[str, ...]) -> None:
    words = (command[0], "--vault", str(vault), "--format", "text", *command[1:])
    ended = process(*words, given=b"a dog")
    assert ended.code == 0
    assert "stdin is left alone" in ended.err
    assert "stdin" not in process(*words, given=b"").err


def test_a_silent_stdin_is_not_waited_for(vault: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    ours, theirs = socket.socketpair()
    (tmp_path / "read").write_text("all")
    try:
        with (
            open(os.devnull, "rb") as nothing,
            open(tmp_path / "read", "rb") as file,
            ours,
            theirs,
        ):
            for handle in (read, nothing.fileno(), theirs.fileno(), file.fileno()):
                os.lseek(file.fileno(), 0, os.SEEK_END)
                assert not _waits(handle)
            os.write(write, b"x")
            ours.send(b"x")
            file.seek(0)
            assert [_waits(each) for each in (read, theirs.fileno(), file.fileno())] == [True] * 3
    finally:
        os.close(read)
        os.close(write)
    command = [sys.executable, "-m", "vaultmem", "write", "--vault", str(vault), "words"]
    closed = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *command], timeout=60, check=False)
    assert closed.returncode == 0


def _waits(handle: int) -> bool:
    before = sys.stdin
    try:
        with open(handle, closefd=False) as sys.stdin:
            return is_data_waiting()
    finally:
        sys.stdin = before


# --- days in words


def test_days_may_be_words(vault: Path) -> None:
    made = done(vault, "write", "Anne prefers trains", "--expires", "tomorrow")
    assert made["expires_at"]
    for words in (("--from", "yesterday"), ("--from", "昨天"), ("--to", "today")):
        assert done(vault, "list", *words)["count"] == 1, words
    assert done(vault, "list", "--to", "yesterday")["count"] == 0
    assert done(vault, "history", "--since", "yesterday")["count"]


def test_words_mean_a_day_that_fits() -> None:
    now = datetime(2026, 11, 21, 10, tzinfo=UTC)
    for words, ahead, back in (
        ("tomorrow", "2026-11-22T00:00", "2026-11-22T00:00"),
        ("Friday", "2026-11-27T00:00", "2026-11-20T00:00"),
        ("周五", "2026-11-27T00:00", "2026-11-20T00:00"),
        ("2 hours ago", "2026-11-21T08:00", "2026-11-21T08:00"),
        ("3 May", "2027-05-03T00:00", "2026-05-03T00:00"),
        ("next month", "2026-12-01T00:00", "2026-12-01T00:00"),
    ):
        params = Arguments({"since": words})
        times = [params.moment("since", now, ahead=each) for each in (True, False)]
        read = [datetime.fromtimestamp(at, UTC).isoformat()[:16] for at in times]
        assert read == [ahead, back], words


# --- what waits, and what the shell completes


def test_reviews_are_not_crowded_out_by_tasks(vault: Path) -> None:
    tasks = "".join(f"- [ ] Task {n} 📅 2026-01-01\n" for n in range(40))
    (vault / "Notes" / "Tasks.md").write_text(tasks)
    (vault / "vaultmem").mkdir()
    (vault / "vaultmem" / "Dropped.md").write_text("A thought.\n")
    synced(vault)
    shown = said(vault, "pending", "--all").out
    assert shown.count("Task ") == 40
    chores = said(vault, "pending").out.splitlines()
    assert chores[1].endswith("1 thing for the memory to be looked after: vaultmem review")
    assert chores[2:] == ["+40 overdue for more than two weeks: vaultmem pending --all"]
    [line] = said(vault, "review").out.splitlines()
    assert line.endswith("is in no folder of a category, and is left alone  vaultmem/Dropped.md")
    assert "vaultmem/Dropped.md is in no folder" in said(vault, "dream").err


# --- what a terminal gets


EVIL = "Title\x1b]0;owned\x07\n\nbody \x1b[31mred\x1b[0m \u202eturned\n"


def test_a_memory_cannot_steer_the_terminal(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two(vault)
    file = vault / "vaultmem" / "knowledge" / "First.md"
    file.write_text(file.read_text().replace("First text\n", EVIL))
    exact = said(vault, "read", ONE).out
    assert exact.endswith(f"\n\n{EVIL}")
    terminal = on_terminal(monkeypatch)
    assert cli_main("read", ONE, "--vault", str(vault)) == 0
    assert cli_main("list", "--vault", str(vault)) == 0
    assert cli_main("tag", ONE, "x", "--dry-run", "--vault", str(vault)) == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert "body" in shown
    assert not [c for c in shown if (ord(c) < 32 and c not in "\n\t") or c == "\u202e"]
    assert "\x1b]0" not in terminal.getvalue()
    assert "\x1b[31mred" not in terminal.getvalue()


def cli_main(*words: str) -> int:
    from vaultmem import cli

    return cli.main([*words])


# --- proposals for a person's notes


PROPOSALS = [
    {"id": f"{letter * 12}", "kind": "broken-link", "path": f"Notes/{letter}.md", "line": 3,
     "said": f"[[{letter}]] leads nowhere", "evidence": ["it stands there"], "old": letter, "new": "Anne",
     "diff": f"--- a\n+++ b\n@@ -1 +1 @@\n-{letter}\n+Anne\n"}
    for letter in "abc"
]  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    """What was asked of a vault that has three proposals."""
    heard: list[tuple[str, dict[str, object]]] = []

    def ask(_: Vault, verb: str, **params: object) -> Any:
        heard.append((verb, params))
        if verb == "pending":
            return {"chores": []}
        return (
            {"proposals": PROPOSALS, "count": 3, "rules": {}}
            if verb == "proposals"
            else {"id": params["id"]}
        )

    monkeypatch.setattr(Vault, "ask", ask)
    return heard


def test_proposals_are_listed_where_nobody_can_answer(
    vault: Path, asked: list[tuple[str, dict[str, object]]]
) -> None:
    synced(vault)
    assert done(vault, "review") == {"proposals": PROPOSALS, "chores": [], "count": 3, "rules": {}}
    shown = said(vault, "review").out.splitlines()
    assert shown[0] == "aaaaaaaaaaaa  broken-link  Notes/a.md:3  [[a]] leads nowhere"
    assert {verb for verb, _ in asked} == {"proposals", "pending"}


def test_one_proposal_is_accepted_or_rejected(
    vault: Path, asked: list[tuple[str, dict[str, object]]]
) -> None:
    synced(vault)
    assert said(vault, "review", "aaaa", "--accept").out == "accepted: [[a]] leads nowhere\n"
    done(vault, "review", "bbbb", "--reject")
    assert [(verb, params["id"]) for verb, params in asked if verb != "proposals"] == [
        ("accept", "a" * 12), ("reject", "b" * 12),
    ]  # fmt: skip
    before = len(asked)
    assert "+Anne" in said(vault, "review", "cccc", "--accept", "--dry-run").out
    assert [verb for verb, _ in asked[before:]] == ["proposals"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("a\nr\ns\n", [("accept", "a" * 12), ("reject", "b" * 12)]), ("x\n\ns\nq\n", []), ("r\n", [("reject", "a" * 12)])],
)  # fmt: skip
def test_a_person_goes_through_them(
    vault: Path,
    asked: list[tuple[str, dict[str, object]]],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    wanted: list[tuple[str, str]],
) -> None:
    class Keys(io.StringIO):
        def isatty(self) -> bool:
            return True

    synced(vault)
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(sys, "stdin", Keys(typed))
    assert cli_main("review", "--vault", str(vault)) == 0
    decided = [(verb, params["id"]) for verb, params in asked if "id" in params]
    assert decided == wanted
    assert "[a]ccept" in terminal.getvalue()
    assert "it stands there" in terminal.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_a_dream_proposes_and_a_person_decides(make: Make, kind: str) -> None:
    vault = make(kind)
    note = next(vault.rglob("Anne.md"))
    text = "- My sister rides the [[Bicycel]].\n"
    note.write_text(text)
    note.with_name("Tom.md").write_text("- Tom rides a [[Bicyle]], too.\n")
    before = outside(vault)
    assert (
        "proposals for notes of yours: vaultmem review" in said(vault, "dream", "--level", "3").err
    )
    broken = {
        one["old"]: one["id"]
        for one in done(vault, "review")["proposals"]
        if one["kind"] == "broken-link"
    }
    assert broken.keys() == {"Bicycel", "Bicyle"}
    assert outside(vault) == before
    done(vault, "review", broken["Bicyle"], "--reject")
    done(vault, "review", broken["Bicycel"][:6], "--accept")
    assert note.read_text() == text.replace("Bicycel", "Bicycle")
    done(vault, "dream", "--level", "3")
    left = {one["id"] for one in done(vault, "review")["proposals"]}
    assert not left & set(broken.values())
    assert "no proposal has the id" in refused(vault, "review", broken["Bicycel"], "--accept")
    done(vault, "undo", "--last")
    assert note.read_text() == text


# --- processes


def test_through_an_agent_everything_is_the_same(vault: Path) -> None:
    with agent_on(vault) as agent:
        made = done(vault, "write", "Anne prefers trains", "--tags", "travel", "--by", "claude")
        agent.watches()
        agent.finds("trains", made["path"])
        assert done(vault, "read", made["id"][:6])["content"].strip() == "Anne prefers trains"
        assert [one["id"] for one in done(vault, "list")["memories"]] == [made["id"]]
        assert agent.call("list", category="inbox")["count"] == 1
        assert agent.call("read", id="Anne prefers trains")["access_count"] == 2
        assert agent.call("memory", verb="read", params={"id": made["id"]})["access_count"] == 3
        for given, reason in (
            (b"x" * 1_000_000, "1,000,000 bytes"),
            ("🎉".encode() * 80_000, "320,000 bytes"),
        ):
            assert reason in one_line(on(vault, "write", given=given))
        assert "Memory not found" in refused(vault, "read", "nobody")
        assert "--category must be one of" in refused(vault, "list", "--category", "x", code=2)
        done(vault, "delete", made["id"])
        assert [one["why"] for one in done(vault, "history")["history"]][:2] == [
            "delete Anne prefers trains", "write Anne prefers trains",
        ]  # fmt: skip
        done(vault, "undo", "--last")
        assert done(vault, "status")["memory_count"] == 1
    assert files(vault) == [made["path"]]


def test_without_git_only_the_history_is_missing(
    vault: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("GIT_PYTHON_GIT_EXECUTABLE", raising=False)
    done(vault, "write", "Anne prefers trains")
    assert "git" in refused(vault, "history")
    shown = on(vault, "status", "--format", "text")
    assert len(re.findall(r"^ *history ", shown.out, re.MULTILINE)) == 1
    assert os.environ["PATH"] == str(tmp_path)
