"""Proposals for a person's notes, as commands show and apply them."""

import io
import re
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
    {"id": f"{letter * 12}", "kind": "broken-link", "path": f"Notes/{letter}.md", "line": 3, "said": "leads nowhere",
     "evidence": ["it stands there"], "old": letter, "new": "Anne", "diff": ""}
    for letter in "abc"
]  # fmt: skip
LISTED = {"proposals": PROPOSALS, "count": 3, "rules": {}}


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("a\nr\ns\n", [("accept", "a" * 12), ("reject", "b" * 12)]), ("x\n\ns\nq\n", []), ("r\n", [("reject", "a" * 12)])],
)  # fmt: skip
def test_a_person_goes_through_them(
    vault: Path, monkeypatch: pytest.MonkeyPatch, typed: str, wanted: list[tuple[str, str]]
) -> None:
    class Keys(io.StringIO):
        def isatty(self) -> bool:
            return True

    decided = []

    def ask(_: Vault, verb: str, **params: object) -> Any:
        decided.extend([(verb, params["id"])] if params.get("id") else [])
        return {"proposals": LISTED, "pending": {"chores": []}}.get(verb, PROPOSALS[0])

    monkeypatch.setattr(Vault, "ask", ask)
    synced(vault)
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(sys, "stdin", Keys(typed))
    assert cli_main("review", "--vault", str(vault)) == 0
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
    listed = said(vault, "review")
    assert " to review; vaultmem review --accept ID or --reject ID" in listed.err
    row = rf"{broken['Bicycel']}  broken-link  \S+Anne\.md:1  (\[\[Bicycel\]\] leads nowhere.*)"
    words = re.findall(row, listed.out)[0]
    assert (
        "+- My sister rides the [[Bicycle]]"
        in said(vault, "review", broken["Bicycel"], "--accept", "--dry-run").out
    )
    assert outside(vault) == before
    done(vault, "review", broken["Bicyle"], "--reject")
    assert said(vault, "review", broken["Bicycel"][:6], "--accept").out == f"accepted: {words}\n"
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
