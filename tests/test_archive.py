"""The archive is the last tier of a search: marked, below every live hit, and only for those who may see it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import on, ran
from vaultmem import Vault
from vaultmem.memories.access import viewer
from vaultmem.search.query import Ask, Filter, Hit

Write = Callable[..., Path]
KEPT, NOTE, FADED, OLD = "Kept", "Saffron", "Saffron faded", "Saffron is dear"


def page(**own: object) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in own.items())


@pytest.fixture
def kept(vault: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One note, one live memory, and in the archive a faded, a replaced, a deleted, another client's and a private
    one."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    write(f"{NOTE}.md", "Saffron and rice\n")
    away: dict[str, dict[str, object]] = {
        FADED: {"by": "decay", "deleted_at": "2026-08-01T10:00:00Z", "tags": ["spice/red"], "project": "food"},
        OLD: {"by": "claude", "agent": "Claude Code", "deleted_at": "2026-08-02T10:00:00Z", "replaced_by": "0d741456-94bd-4f4c"},
        "Saffron deleted": {"by": "you", "deleted_at": "2026-08-03T10:00:00Z"},
        "Saffron of codex": {"by": "decay", "scope": "agent:codex"},
        "Saffron of mine": {"by": "decay", "private": True},
    }  # fmt: skip
    for number, (title, own) in enumerate(away.items()):
        given = {"id": f"{number:08}-94bd", "created_at": "2026-07-01T10:00:00Z", **own}
        write(
            f"vaultmem/archive/{title}.md", f"---\n{page(**given)}---\n{title}, from the pantry\n"
        )
    with Vault(str(vault)) as opened:
        opened.write("Saffron grows in autumn")
        opened.sync()
    return vault


def titles(found: list[Hit]) -> list[str]:
    return [one.title for one in found]


def asked(vault: Path, text: str, **how: Any) -> list[Hit]:
    with Vault(str(vault)) as opened:
        return opened.answer(Ask(text, **how)).results


def test_the_archive_comes_last_and_only_where_there_is_room(kept: Path) -> None:
    found = asked(kept, "saffron")
    live = [one for one in found if not one.archived]
    assert found[: len(live)] == live
    assert len(live) == 2
    marks = {one.title: one.archived for one in found[len(live) :]}
    assert marks[FADED] == "archived 2026-08-01"
    assert marks[OLD] == "replaced by 0d741456"
    assert "Saffron deleted" not in marks
    assert titles(asked(kept, "saffron", limit=2)) == titles(live)
    assert titles(asked(kept, "saffron", limit=3))[:2] == titles(live)
    assert not asked(kept, "turmeric")


@pytest.mark.parametrize(
    ("text", "filters", "told"),
    [
        ("pantry", [], {FADED, OLD}),
        ("pantry -dear", [], {FADED}),
        ('"is dear"', [], {OLD}),
        ("pantry OR cellar", [Filter("tag", "spice")], {FADED}),
        ("pantry -tag:spice", [], {OLD}),
        ("pant* tag:spices", [], set()),
        ("pantry", [Filter("project", "Food")], {FADED}),
        ("pantry", [Filter("agent", "claude")], {OLD}),
        ("pantry", [Filter("source", "none")], set()),
        ("pantry title:faded", [], {FADED}),
        ("pantry path:Projects/", [], set()),
        ("pantry before:2026-07", [], set()),
        ("pantry after:2026-06", [Filter("to", "2026-07-01")], {FADED, OLD}),
        ("pantry in the cellar under the stairs", [], set()),
        ("tag:spice", [], set()),
    ],
)  # fmt: skip
def test_what_is_asked_for_holds_for_the_archive(
    kept: Path, text: str, filters: list[Filter], told: set[str]
) -> None:
    found = asked(kept, text, filters=tuple(filters), viewer=viewer("claude"))
    assert {one.title for one in found if one.archived} == told


def test_who_may_not_see_it_is_not_told(kept: Path) -> None:
    """Private memories in the archive, and those of another scope, are for the person and their owner alone."""
    seen = {name: {*titles(asked(kept, "pantry", viewer=viewer(name)))} for name in ("", "codex")}
    assert seen[""] == {FADED, OLD, "Saffron of codex", "Saffron of mine"}
    assert seen["codex"] == {FADED, OLD, "Saffron of codex"}


def test_what_is_archived_later_is_found(kept: Path, write: Write) -> None:
    """The list of archived files is read again when their folder changes."""
    folder = kept / "vaultmem/archive"
    os.utime(folder, (1_700_000_000, 1_700_000_000))
    with Vault(str(kept)) as opened:
        for number in range(2):
            assert len([one for one in opened.search("saffron") if one.archived]) == 4 + number
            fields = page(id=f"9{number:07}-94bd", created_at="2026-07-01T10:00:00Z", by="decay")
            write(f"vaultmem/archive/Late {number}.md", f"---\n{fields}---\nSaffron, late\n")


def test_every_door_marks_what_it_tells_last(kept: Path) -> None:
    at = ("--vault", str(kept), "--format")
    shown = ran("search", "pantry", *at, "text")
    assert "nothing found" not in shown.err
    assert "(archived 2026-08-01)" in shown.out
    assert "(replaced by 0d741456)" in shown.out
    data = ran("search", "pantry", *at, "json").data["results"]
    batch = json.loads(ran("search", "--batch", *at, "json", stdin=b"pantry\n").out)["results"]
    for results in (data, batch):
        assert {result["title"]: result["archived"] for result in results}[
            FADED
        ] == "archived 2026-08-01"
    for name in ("memory_search", "memory_smart_search"):
        call = json.dumps({"name": name, "params": {"query": "saffron"}}).encode()
        said = json.loads(on(kept, "agent", stdin=call).out)
        lines = said["text"].splitlines()[1:]
        marked = [
            "archived 2026-08-01)" in line or "replaced by 0d741456)" in line for line in lines
        ]
        assert marked == [False, False, True, True]
        assert [bool(one.get("archived")) for one in said["data"]["results"]] == marked
