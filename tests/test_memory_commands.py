"""The memory commands in real vaults: their output, what they write, and what they refuse."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import agent_on
from tests.cli_run import ROOT, done, golden, one_line
from tests.index_dump import synced
from tests.memory_commands import KINDS, Make, files, make, on, outside, refused, said, vault
from vaultmem.history.commits import Commit, FileChange
from vaultmem.operations.overviews import standing

__all__ = ["make", "vault"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")

GUIDE = ROOT / "docs" / "guide"


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
    about = ("--category", "knowledge", "--decay", "reinforceable")
    other = done(vault, "create", "Anne’s bicycle is blue", *about)
    assert other["path"] == "vaultmem/knowledge/Anne’s bicycle is blue.md"
    tagged = done(vault, "tag", made["id"], "#sister", "--remove", "anne")
    assert tagged["tags"] == ["travel", "sister"]
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


def plainly(text: str) -> str:
    for pattern, put in VOLATILE:
        text = pattern.sub(put, text)
    return "\n".join(_without_context(text.split("\n")))


def _without_context(lines: list[str]) -> Iterator[str]:
    """A diff without its context, which depends on whether a second has passed."""
    inside = False
    for line in lines:
        inside = line.startswith("@@") or (inside and line[:1] in (" ", "+", "-"))
        if not inside or (line[:1] in ("+", "-") and line[1:10] != "vaultmem:"):
            yield line


def test_the_story_of_the_guide_is_true(vault: Path) -> None:
    """Its commands, run one after another, print its lines."""
    story = (
        GUIDE.joinpath("memories.md")
        .read_text("utf-8")
        .partition("<!-- transcript: memories -->\n```text\n")[2]
        .partition("```")[0]
    )
    ids: dict[str, str] = {}  # the guide's ids, and the actual ones
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


def _commit(why: str, change: FileChange, *undone: Commit) -> Commit:
    undoes = tuple(one.commit for one in undone)
    return Commit(why, 0.0, "dream", "job", why, (change,), "batch", undoes)


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
            assert reason in one_line(on(vault, "write", stdin=given))
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


@pytest.mark.parametrize("kind", ["obsidian", "logseq"])
def test_a_corrected_memory_is_renamed_unless_something_links_to_it(make: Make, kind: str) -> None:
    vault = make(kind)
    folder = "vaultmem/inbox/"
    made = done(vault, "write", "Anne prefers trains to planes")
    linked = done(vault, "write", "Bob has a blue bicycle")
    (vault / "Mine.md").write_text("See [[Bob has a blue bicycle]].\n")
    own = done(vault, "write", "The key is under the mat")
    renamed = f"{folder}Where the key is.md"
    os.rename(vault / own["path"], vault / renamed)
    synced(vault)
    now = done(vault, "edit", made["id"], "Anne prefers trains and ferries to planes")
    assert now["path"] == f"{folder}Anne prefers trains and ferries to planes.md"
    assert not (vault / made["path"]).exists()
    for each, words, path in (
        (linked, "Bob has a green bicycle", linked["path"]),
        (own, "The key is under the pot", renamed),
    ):
        assert done(vault, "edit", each["id"], words)["path"] == path
        assert done(vault, "read", each["id"])["content"].strip() == words
    tap = "Yesterday (2026-11-03) we fixed the tap"
    done(vault, "write", tap, "--title", "Yesterday we fixed the tap")
    listed = said(vault, "list").out
    assert "Yesterday we fixed the tap\n" in listed
    assert "Where the key is: The key is under the pot" in listed
    assert "Bob has a blue bicycle: Bob has a green bicycle" in listed
    assert "Anne prefers trains and ferries to planes:" not in listed
    synced(vault)
    same = done(vault, "edit", made["id"], "anne prefers trains and ferries to planes!")
    assert same["path"].startswith(now["path"][:-3])
    for _ in range(5):
        done(vault, "undo", "--last")
    assert (vault / made["path"]).exists()
    assert done(vault, "read", made["id"])["content"].strip() == "Anne prefers trains to planes"


def test_links_call_a_memory_as_logseq_does_which_reads_names_of_files(make: Make) -> None:
    vault = make("logseq")
    settings = vault / "logseq/config.edn"
    settings.write_text("{:file/name-format :triple-lowbar}")
    made = done(vault, "write", "Femi is allergic to nuts")
    other = done(vault, "write", "Bob has a blue bicycle")
    renamed = "vaultmem/inbox/people___Femi%3A nuts.md"
    os.rename(vault / made["path"], vault / renamed)
    done(vault, "link", other["id"], "people/Femi: nuts")
    assert "links:: [[people/Femi: nuts]]\n" in (vault / other["path"]).read_text("utf-8")
    done(vault, "delete", made["id"])
    assert done(vault, "restore", made["id"])["path"] == renamed
    settings.write_text("{}")  # a dot in the file's name is a slash then
    third = done(vault, "write", "The kitchen is warm")
    for words, is_titled in (("Room 2.1 is free", True), ("The room is free", False)):
        synced(vault)
        now = done(vault, "edit", third["id"], words)
        title = now["path"].rpartition("/")[2].removesuffix(".md")
        text = (vault / now["path"]).read_text("utf-8")
        assert (title, f"title:: {title}\n" in text) == (words, is_titled)
        assert ("title::" in text) is is_titled


def test_a_reminder_that_is_corrected_speaks_when_its_words_say(make: Make) -> None:
    vault = make("obsidian")
    made = done(vault, "remind", "2090-12-24 call Mum")
    assert "remind       2090-12-24\n" in said(vault, "read", made["id"]).out
    now = said(vault, "edit", made["id"], "2090-12-25 9am call Mum").out
    assert now.endswith("changed; reminds on 2090-12-25 09:00\n")
    kept = said(vault, "edit", made["id"], "2090-12-25 9am call Mum and Dad").out
    assert kept.endswith("changed; reminds on 2090-12-25 09:00\n")
    assert "on 2090-12-25 09:00" in said(vault, "edit", made["id"], "call Mum and Dad").out
    often = said(vault, "edit", made["id"], "call Mum every Monday starting 2090-12-04").out
    assert often.endswith("reminds on 2090-12-04, every week on Monday\n")
    assert "(reminds on 2090-12-04, every week on Monday)" in said(vault, "list").out
    assert "may be" in refused(vault, "edit", made["id"], "3/4 call Mum")
    assert done(vault, "read", made["id"])["remind"] == "2090-12-04"
    done(vault, "undo", "--last")
    assert done(vault, "read", made["id"])["remind"] == "2090-12-25T09:00"
    assert "repeat" not in done(vault, "read", made["id"])
