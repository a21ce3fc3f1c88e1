"""Proposals for a person's notes, as commands show and apply them."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import done
from tests.index_dump import synced
from tests.memory_commands import Make, cli_main, make, outside, refused, said, vault
from tests.test_output import on_terminal
from vaultmem import Vault

__all__ = ["make", "vault"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")

PROPOSALS = [
    {"id": f"{letter * 12}", "kind": "broken-link", "path": f"Notes/{letter}.md", "line": 3,
     "said": f"[[{letter}]] leads nowhere", "evidence": ["it stands there"], "old": letter, "new": "Anne",
     "diff": f"--- a\n+++ b\n@@ -1 +1 @@\n-{letter}\n+Anne\n"}
    for letter in "abc"
]  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    """The questions about a vault that has three proposals."""
    heard: list[tuple[str, dict[str, object]]] = []

    def ask(_: Vault, verb: str, **params: object) -> Any:
        heard.append((verb, params))
        if verb == "pending":
            return {"chores": []}
        fitting = [
            proposal
            for proposal in PROPOSALS
            if str(proposal["id"]).startswith(str(params["id"] or ""))
        ]
        listed = {"proposals": fitting, "count": len(fitting), "rules": {}}
        return listed if verb == "proposals" else fitting[0]

    monkeypatch.setattr(Vault, "ask", ask)
    return heard


def test_proposals_are_listed_where_nobody_can_answer(
    vault: Path, asked: list[tuple[str, dict[str, object]]]
) -> None:
    synced(vault)
    assert done(vault, "review") == {"proposals": PROPOSALS, "chores": [], "count": 3, "rules": {}}
    listed = said(vault, "review")
    assert "vaultmem: 3 to review; vaultmem review --accept ID or --reject ID" in listed.err
    shown = listed.out.splitlines()
    assert shown[0] == "aaaaaaaaaaaa  broken-link  Notes/a.md:3  [[a]] leads nowhere"
    assert {verb for verb, _ in asked} == {"proposals", "pending"}


def test_one_proposal_is_accepted_or_rejected(
    vault: Path, asked: list[tuple[str, dict[str, object]]]
) -> None:
    synced(vault)
    assert said(vault, "review", "aaaa", "--accept").out == "accepted: [[a]] leads nowhere\n"
    done(vault, "review", "bbbb", "--reject")
    assert [(verb, params["id"]) for verb, params in asked] == [
        ("accept", "aaaa"), ("reject", "bbbb"),
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
    decided = [(verb, params["id"]) for verb, params in asked if params.get("id")]
    assert decided == wanted
    assert "[a]ccept" in terminal.getvalue()
    assert "it stands there" in terminal.getvalue()


def test_a_dream_proposes_and_a_person_decides(make: Make) -> None:
    vault = make("logseq")
    note = next(vault.rglob("Anne.md"))
    text = b"\xef\xbb\xbf- My sister rides the [[Bicycel]].\r\n"
    note.write_bytes(text)
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
    assert note.read_bytes() == text.replace(b"Bicycel", b"Bicycle")
    done(vault, "dream", "--level", "3")
    left = {one["id"] for one in done(vault, "review")["proposals"]}
    assert not left & set(broken.values())
    assert "no open proposal has the id" in refused(vault, "review", broken["Bicycel"], "--accept")
    done(vault, "undo", "--last")
    assert note.read_bytes() == text


def test_a_dream_names_the_notes_that_it_may_not_change_by_a_rule(make: Make) -> None:
    vault = make("obsidian")
    note = next(vault.rglob("Anne.md"))
    note.write_text("- My sister rides the [[Bicycel]].\n")
    others = [note.with_name(f"Z{number}.md") for number in range(7)]
    for other in others:
        other.write_text(f"- {other.stem} rides a [[Bicycel]], too.\n")
        other.chmod(0o444)
    would = said(vault, "review", "--always", "broken-link", "--dry-run")
    assert would.out == "would set always: broken-link\n"
    said(vault, "review", "--always", "broken-link")
    heard = said(vault, "dream", "--level", "3").err
    names = ", ".join(str(other.relative_to(vault)) for other in others[:5])
    assert f"left alone: {names} and 2 more: read-only; nothing was written\n" in heard
    assert note.read_text() == "- My sister rides the [[Bicycle]].\n"
    assert {other.read_text().count("[[Bicycel]]") for other in others} == {1}


def test_whatever_counts_what_there_is_to_review_counts_what_review_lists(make: Make) -> None:
    vault = make("obsidian")
    notes = next(vault.rglob("Anne.md")).parent
    for number in range(25):
        (notes / f"Ride {number}.md").write_text("- My sister rides the [[Bicycel]].\n")
    (notes / "Diary.md").write_text("---\nprivate: true\n---\n\nTom rides the [[Bicycel]].\n")
    (notes / "Clip.md").write_text("---\nsource: web\n---\n- [ ] buy 📅 2026-01-01\n")
    for number in range(5):
        (notes / f"Bad {number}.md").write_text("---\na: [\n---\n")
    beans = "# Beans\n" + "They were sown in May, and we ate the last of them in October.\n" * 6
    for name in ("Beans.md", "Beans too.md"):
        (notes / name).write_text(beans)
    dreamt = said(vault, "dream", "--level", "3")
    assert "to review" not in dreamt.out + dreamt.err, "review lists what can be decided"

    def counts() -> tuple[int, str, str]:
        listed = done(vault, "review")
        assert listed["count"] == len(listed["proposals"]) + len(listed["chores"])
        [line] = [
            one["text"] for one in done(vault, "pending")["review"] if "look after" in one["text"]
        ]
        told = said(vault, "hook", "session-start", "--harness", "codex").out
        return listed["count"], line, told

    for number in range(3):
        count, line, told = counts()
        assert line.startswith(f"{count} things to look after")
        assert f"To review: {count}" in told
        ride = notes / f"Ride {number}.md"  # its proposal is no longer valid and not listed
        ride.write_text("A line above\n" + ride.read_text())
        said(vault, "sync")
    assert counts()[0] == count - 1
    (notes / "Index.md").write_text("[[Beans]], [[Beans too]]\n")
    said(vault, "sync")
    fewer, line, _ = counts()
    assert (fewer, line[:2]) == (count - 2, f"{fewer}"), "a copy that is linked to stays"
