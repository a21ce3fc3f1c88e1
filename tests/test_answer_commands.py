"""vaultmem done, drop and snooze: their output, as text and as JSON, alone and through an agent."""

import datetime as dt
from pathlib import Path

import pytest

from tests.agent_run import agent_on
from tests.cli_run import as_text, done, one_line, tree_hash
from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.api.rpc import Reader
from vaultmem.memories.item_answers import completion_id
from vaultmem.pending.open_store import open_store

pytestmark = pytest.mark.usefixtures("without_a_model")

TODAY = dt.datetime.now().astimezone().date()


@pytest.fixture
def vault(vault: Path, write: Write) -> Path:
    """Two tasks for today."""
    write("Tasks.md", f"- [ ] call Anne 📅 {TODAY}\n- [ ] buy milk 📅 {TODAY}\n")
    synced(vault)
    return vault


def ids(vault: Path) -> dict[str, str]:
    """The ids of pending items, by their text."""
    with Vault(str(vault)) as opened:
        store, now = open_store(opened.state, opened.config), dt.datetime.now().astimezone()
        searcher = Reader(opened).searcher()
        assert searcher is not None
        return {one.text: one.id for one in store.pending.at(searcher.catalog, now).items()}


def test_each_item_has_its_line(vault: Path) -> None:
    known = ids(vault)
    call, milk = known["call Anne"], known["buy milk"]
    first, second = as_text(vault, "done", call, milk).out.splitlines()
    assert first.startswith(f"done: call Anne ({call}); still open in its note: vaultmem done vm-")
    assert second.startswith(f"done: buy milk ({milk})")
    asked = completion_id("Tasks.md")
    assert as_text(vault, "done", asked).out.endswith(f"({asked}); Tasks.md\n"), "once, for both"
    assert (vault / "Tasks.md").read_text().count("[x]") == 2
    assert as_text(vault, "done", asked, "--undo").out.startswith("open again: mark tasks of")
    assert (vault / "Tasks.md").read_text().count("[ ]") == 2
    assert as_text(vault, "done", call).out == f"done already: call Anne ({call})\n"
    assert as_text(vault, "drop", call, "--undo").out == f"open again: call Anne ({call})\n"
    assert as_text(vault, "drop", call).out == f"dropped: call Anne ({call})\n"
    assert as_text(vault, "done", milk, "--undo").out == f"open again: buy milk ({milk})\n"
    tomorrow = TODAY + dt.timedelta(days=1)
    assert as_text(vault, "snooze", milk).out == f"snoozed until {tomorrow}: buy milk ({milk})\n"
    later = as_text(vault, "snooze", milk[:7], "--until", "tomorrow 9:00").out
    assert later == f"snoozed until {tomorrow} 09:00: buy milk ({milk})\n"


def test_a_dry_run(vault: Path) -> None:
    call = ids(vault)["call Anne"]
    before = tree_hash(vault)
    assert as_text(vault, "done", call, "--dry-run").out == f"would be done: call Anne ({call})\n"
    assert done(vault, "done", call, "--dry-run")["items"][0]["dry_run"]
    assert tree_hash(vault) == before
    assert "call Anne" in ids(vault)
    as_text(vault, "done", call)
    undone = as_text(vault, "undo", "--last", "--dry-run")
    assert undone.out.endswith(f"  {call} would be open: call Anne\n")
    assert undone.err == ""


def test_what_is_wrong_is_said_and_the_others_are_answered(vault: Path, tmp_path: Path) -> None:
    known = ids(vault)
    call, milk = known["call Anne"], known["buy milk"]
    ended = as_text(vault, "done", "vm-000000", call)
    assert ended.code == 1
    assert f"done: call Anne ({call})" in ended.out
    assert "vaultmem pending" in ended.err
    wrong = [
        ("drop", (), "ID is missing"),
        ("snooze", (milk, "--until", "soon"), "--until must be"),
    ]
    wrong += [("snooze", (milk, day), f"did you mean --until {day}?") for day in ("friday", "3d")]
    wrong += [("snooze", (milk, "--until", until), "") for until in ("yesterday", " ")]
    for command, words, reason in wrong:
        refused = as_text(vault, command, *words)
        assert (refused.code, refused.out) == (2, "")
        assert reason in one_line(refused)
    (tmp_path / "new").mkdir()
    assert "vaultmem sync" in one_line(as_text(tmp_path / "new", "done", "vm-abcdef"))


def test_through_an_agent(vault: Path) -> None:
    known = ids(vault)
    with agent_on(vault) as agent:
        agent.watches()
        assert as_text(vault, "done", known["call Anne"]).out.startswith("done: call Anne")
        params = {"id": known["buy milk"], "state": "snoozed", "until": "3d"}
        assert agent.call("memory", verb="answer", params=params)["changed"]
        assert "call Anne" not in ids(vault)
        question = completion_id("Tasks.md")
        assert "only you can approve" in one_line(
            as_text(vault, "done", question, "--by", "claude")
        )
