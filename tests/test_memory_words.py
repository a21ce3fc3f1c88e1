"""Typed or piped text, which memory is meant, and what a terminal shows."""

import re
import shlex
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli_run import done, one_line, tree_hash
from tests.conftest import fill
from tests.index_dump import synced
from tests.memory_commands import (
    Make,
    cli_main,
    files,
    make,
    on,
    outside,
    refused,
    said,
    vault,
)
from tests.test_output import on_terminal
from vaultmem.memories.arguments import Arguments

__all__ = ["make", "vault"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")

ONE, OTHER = "abcd1111-0000-4000-8000-000000000001", "abcd2222-0000-4000-8000-000000000002"
TEXTS = (
    "../../x", "CON", "nul.txt", "..", "Привет", "x" * 300, "🎉🎉🎉", "用户喜欢深色模式。", "2026-11-22", "-", "#",
    "\u202eevil\u202c and \u05e9\u05dc\u05d5\u05dd",
    "key: [value, {a: b}]\n- x: 'y",
    "---\nid: hacked\n---\nbody --- here",
    "first\n\n---\n\nlast",
    "id:: hacked\nphase:: gone\n\ntext",
    "see [[../../etc/passwd|x]] #tag",
    "```\n[[no link]]\n```",
    "a\r\nb\r\n",
    "a/b\\c:d*?",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["obsidian", "logseq"])
def test_whatever_is_written_comes_back(make: Make, kind: str) -> None:
    """Odd texts from a pipe: each becomes a file in the inbox with a harmless name and the same text."""
    vault = make(kind)
    before = outside(vault)
    for number, text in enumerate(TEXTS):
        made = done(vault, "write", stdin=text.encode())
        assert made["created"], text
        folder, _, name = made["path"].rpartition("/")
        assert folder == "vaultmem/inbox"
        assert len(name) <= 120
        assert len(name.encode()) <= 190
        assert not [
            c
            for c in name
            if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in '\\/:*?"<>|#^[]\u202e'
        ]
        assert name.split(".")[0].strip().upper() not in ("", "CON", "NUL")
        found = done(vault, "read", made["id"])
        assert found["id"] == made["id"] != "hacked"
        wanted = text.replace("\r\n", "\n")
        assert " ".join(found["content"].split()) == " ".join(wanted.split())
        assert len(files(vault)) == number + 1
    assert outside(vault) == before


def test_words_and_options_stand_in_any_order(vault: Path) -> None:
    made = done(vault, "write", "tea", "--tags", "a", "at", "--agent=claude", "four")
    seen = (made["content"].strip(), made["tags"], made["agent"])
    assert seen == ("tea at four", ["a"], "claude")
    for words, stdin, content in (
        (["-5 degrees", "outside"], "", "-5 degrees outside"),
        (["--", "--tags", "is an option"], "", "--tags is an option"),
        (["---\nrule\n---"], "", "---\nrule\n---"),
        (["-"], "aus der Röhre\n", "aus der Röhre"),
        ([], "\ufeffwith a mark", "with a mark"),
    ):
        made = done(vault, "write", *words, stdin=stdin.encode())
        assert made["content"].strip() == content
    assert "--catgory" in refused(vault, "write", "tea", "--catgory", "date", code=2)


def test_at_a_terminal_there_must_be_words(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultmem.commands.rendering.is_terminal", lambda _: True)
    for command in ("write", "remind", "edit x"):
        refusal = refused(vault, *command.split(), code=2)
        assert f"vaultmem {command.split()[0]} --help" in refusal, refusal
    assert not (vault / "vaultmem").exists()


def test_the_same_and_the_similar_are_told(vault: Path) -> None:
    text = (
        "The gauge at the old bridge froze twice last winter and had to be thawed with warm water"
    )
    first = done(vault, "write", text)
    again = on(vault, "write", "--format", "text", text)
    assert (again.code, again.out) == (0, "")
    assert f"the same text already exists: {first['title']} ({first['id'][:8]})" in again.err
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
    assert "dry run, nothing was done: " in shown.err


def test_a_job_changes_no_more_than_it_may(vault: Path) -> None:
    for choice in ("PostgreSQL over MySQL", "the van over the train", "tea over coffee"):
        done(vault, "write", f"Decision: we chose {choice}")
    first = said(vault, "dream", "--limit", "2")
    assert first.out.count("filed under decisions: ") == 2
    assert "1 left: run it again" in first.err
    assert done(vault, "dream")["counts"] == {"move": 1}
    assert done(vault, "dream")["changes"] == []


def two(vault: Path) -> None:
    """Two memories whose ids begin alike."""
    for id_, title in ((ONE, "First"), (OTHER, "Second")):
        text = (
            f"---\nid: {id_}\nphase: organized\ncategory: knowledge\nscope: global\n"
            f"created_at: 2026-11-01T00:00:00Z\nupdated_at: 2026-11-01T00:00:00Z\n---\n\n{title} text\n"
        )
        fill(vault, {f"vaultmem/knowledge/{title}.md": text})


def test_a_memory_is_meant_by_id_title_or_path(vault: Path) -> None:
    two(vault)
    paths = (
        "vaultmem/knowledge/First.md vaultmem/knowledge/First knowledge/First knowledge/first.MD"
    )
    titles = ("FIRST", "[[First]]", "[[first|so]]", " First ")
    for name in (ONE, ONE.upper(), "abcd1", "abcd1111-0000", *titles, *paths.split()):
        assert done(vault, "read", name)["id"] == ONE, name
    said_of_both = (
        "'abcd' could mean 2 memories: abcd1111 First, abcd2222 Second; give more of the id"
    )
    assert said_of_both in refused(vault, "delete", "abcd")
    assert "Memory not found" in refused(vault, "tag", "abc", "x")
    for command in ("read", "get", "delete", "restore", "reinforce"):
        assert "ID is missing" in refused(vault, command, code=2)
        assert "ID is empty" in refused(vault, command, " ", code=2)
    assert "the content is empty; give some text" in refused(vault, "edit", ONE, code=2)
    for name in ("ffff-unknown", "../../etc/passwd", "x" * 5000, "a\x1b[31m\x00b"):
        assert "Memory not found" in refused(vault, "read", name)
    assert "not deleted" in refused(vault, "restore", ONE)
    assert "itself" in refused(vault, "link", ONE, "First")


def test_links_and_backlinks_know_ids(vault: Path) -> None:
    two(vault)
    done(vault, "link", ONE, OTHER)
    synced(vault)
    assert done(vault, "backlinks", ONE)["note"] == "vaultmem/knowledge/First.md"
    (source,) = done(vault, "backlinks", "abcd2")["backlinks"]
    assert source["source"] == "vaultmem/knowledge/First.md"
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
    "undo": "name a COMMIT",
    "undo abcd --since 1h": "go together",
    "dream --level 4": "--level must be one of 1, 2, 3",
    "list --limit some": "--limit must be a whole number, not 'some'",
    "list --min-confidence some": "--min-confidence must be a number, not 'some'",
    "list --by": "--by needs a value",
    "connect clade": "PROGRAM must be one of claude, codex, gemini, copilot, cursor, opencode, obsidian (did",
    "recall x --as-of whenever": "--as-of must be",
    "upgrade --category people": "goes with one memory",
    "upgrade x --limit 3": "goes without an ID",
    "review --accept": "name the proposal",
    "review x --accept --reject": "not allowed with",
    "list --category xyzzy": "--category must be one of",
    "list --from tomorrowish": "--from must be a day",
    "history --since ages": "--since must be",
    "remind --list": "unrecognized option --list; see",
    "list --catgory people": "(did you mean --category?)",
    "write Another --expires someday": "--expires must be",
}

NOT_THERE = {
    "history nobody": "Memory not found",
    "undo zzzz": "zzzz",
    "upgrade x --category inbox": "another category",
    "review zzzz --accept": "no open proposal has the id",
}


def test_what_makes_no_sense_or_does_not_exist_is_said_in_one_line(vault: Path) -> None:
    done(vault, "write", "x")
    synced(vault)
    for line, reason in NO_SENSE.items():
        assert reason in refused(vault, *shlex.split(line), code=2), line
    for line, reason in NOT_THERE.items():
        assert reason in refused(vault, *shlex.split(line)), line


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
    entry = f"{commit[:8]} (write {made['title']})"
    assert f"nothing was undone of {entry}: {made['path']} is now another file" in one_line(shown)


def test_an_undo_in_part_names_what_was_undone_and_each_file_that_was_not_once(vault: Path) -> None:
    for text in ("Anne prefers trains", "The mill is red"):
        made = done(vault, "write", text, "--by", "bot")
    changed = done(vault, "edit", made["id"], "The mill is blue", "--by", "bot")
    page = vault / changed["path"]
    page.write_text(page.read_text("utf-8").replace("is blue", "was blue"), "utf-8")
    shown = said(vault, "undo", "--by", "bot", "--since", "1h")
    assert shown.out.count("undone:") == 1
    assert "write Anne prefers trains" in shown.out
    assert shown.err.count("not undone:") == 1
    assert "mill" not in said(vault, "history").out.split("\n")[0]
    last = one_line(on(vault, "undo", "--last", "--format", "text"))
    assert "nothing was undone" in last
    assert "the same lines" in last


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
