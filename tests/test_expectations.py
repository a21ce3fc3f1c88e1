"""vaultmem expect: what a question must find is on a page, checked by recall, and reported when it is lost."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import one_line, ran
from tests.conftest import Write
from tests.index_dump import synced
from vaultmem import Vault
from vaultmem.agent.jobs import JOBS
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.operations import expectations

pytestmark = pytest.mark.usefixtures("without_a_model")

BOILER = "# Boiler\n\nMr Ansah services the boiler every November.\n"
QUESTION, ANSWER = "who services the boiler", "Mr Ansah"


@pytest.fixture
def notes(request: pytest.FixtureRequest, vault: Path, write: Write) -> Path:
    is_graph = getattr(request, "param", "") == "logseq"
    write("logseq/config.edn" if is_graph else ".obsidian/app.json", "{}")
    folder = "pages/" if is_graph else ""
    write(f"{folder}Boiler.md", BOILER)
    write(f"{folder}Roof.md", "# Roof\n\nThe roof was tiled in May.\n")
    synced(vault)
    return vault


def page_of(vault: Path) -> Path:
    return next(vault.rglob("expectations.md"))


def check(vault: Path) -> dict[str, bool]:
    with Vault(str(vault)) as opened:
        return {
            expectation["question"]: expectation["found"]
            for expectation in opened.check_expectations()
        }


def run_job(vault: Path) -> str:
    with Vault(str(vault)) as opened:
        opened.sync()
        return JOBS["expect"].run(opened)


def pending(vault: Path) -> list[str]:
    with Vault(str(vault)) as opened:
        return [one["text"] for one in opened.pending() if "does not find" in one["text"]]


@pytest.mark.parametrize("notes", ["obsidian", "logseq"], indirect=True)
def test_an_expectation_is_a_line_of_a_page_and_is_no_answer_to_itself(notes: Path) -> None:
    with Vault(str(notes)) as vault:
        vault.expect(QUESTION, ANSWER)
        vault.expect("who climbs the steeple", "Gethin Steeplejack")
        assert vault.expect(QUESTION, ANSWER)["changed"] is False
        listed = vault.expectations()
    assert [one["question"] for one in listed] == [QUESTION, "who climbs the steeple"]
    assert f"- {QUESTION} → {ANSWER}\n" in page_of(notes).read_text("utf-8")
    synced(notes)
    assert check(notes) == {QUESTION: True, "who climbs the steeple": False}


@pytest.mark.parametrize("notes", ["obsidian", "logseq"], indirect=True)
def test_what_a_person_writes_on_the_page_counts_and_stays(notes: Path) -> None:
    with Vault(str(notes)) as vault:
        vault.expect(QUESTION, ANSWER)
        page = page_of(notes)
        own = page.read_text("utf-8") + "- roof tiles -> [[Roof]]\n- a line without an arrow\n"
        page.write_text(own, "utf-8")
        assert check(notes) == {QUESTION: True, "roof tiles": True}
        vault.expect("WHO services  the boiler", remove=True)
        assert page.read_text("utf-8") == own.replace(f"- {QUESTION} → {ANSWER}\n", "")
        vault.undo(last=True)
        assert page.read_text("utf-8") == own


def test_the_page_of_expectations_has_a_history_and_is_no_memory(notes: Path) -> None:
    with Vault(str(notes)) as vault:
        for question in ("first", "second"):
            vault.expect(question, ANSWER)
        vault.write("Anne likes tea")
        whys = [one["why"] for one in vault.history()]
        assert whys[:3] == ["write Anne likes tea", "expect: second", "expect: first"]
        assert not any("outside" in why for why in whys)
        for left in (["first", "second"], ["first"], []):
            vault.undo(last=True)
            assert [expectation["question"] for expectation in vault.expectations()] == left
        assert page_of(notes).read_bytes() == b""
        assert [memory["title"] for memory in vault.memories(deleted=True)] == ["Anne likes tea"]
        vault.undo(redo=True)
        assert page_of(notes).read_text("utf-8").endswith(f"- first → {ANSWER}\n")


def test_what_got_lost_is_pending_until_it_is_found_again(notes: Path) -> None:
    assert run_job(notes) == "nothing to do: there are no expectations"
    with Vault(str(notes)) as vault:
        vault.expect(QUESTION, ANSWER)
    assert run_job(notes) == "1 of 1 expectation met"
    assert pending(notes) == []
    boiler = next(notes.rglob("Boiler.md"))
    boiler.write_text("# Boiler\n\nIt is warm.\n", "utf-8")
    assert run_job(notes) == "0 of 1 expectation met"
    lost = [f"“{QUESTION}” does not find “{ANSWER}”"]
    assert pending(notes) == lost
    with Vault(str(notes)) as vault:
        id_ = next(one["id"] for one in vault.pending() if one["text"] in lost)
        vault.check_expectations()
        assert id_ in {one["id"] for one in vault.pending()}  # it is the same loss
        vault.done(id_)
    assert pending(notes) == []
    boiler.write_text(BOILER, "utf-8")
    assert run_job(notes) == "1 of 1 expectation met"
    boiler.unlink()
    assert run_job(notes) == "0 of 1 expectation met"
    assert pending(notes) == lost


def test_the_command(notes: Path) -> None:
    def on(*words: str) -> Any:
        return ran("expect", "--vault", str(notes), "--format", "text", *words)

    shown = on(QUESTION, ANSWER, "--dry-run")
    assert f"expect: {QUESTION}" in shown.out
    assert not [*notes.rglob("expectations.md")]
    assert on(QUESTION, ANSWER).out == f"expected: {QUESTION} → {ANSWER}\n"
    again = ran("expect", "--vault", str(notes), "--format", "json", QUESTION, ANSWER)
    assert (again.code, again.data["changed"]) == (0, False)
    checked = on("--run")
    assert (checked.code, checked.err) == (0, "vaultmem: 1 expectation, 1 met\n")
    assert "Boiler.md" in checked.out
    on("who tiled the roof", "a tiler")
    failed = on("--run")
    assert failed.code == 1
    assert "who tiled the roof → a tiler  not found\n" in failed.out
    data = ran("expect", "--vault", str(notes), "--run", "--format", "json")
    assert (data.code, data.data["lost"]) == (1, 1)
    other = on("who tiled the roof", "Mr Ansah")
    assert (
        "'a tiler', too; vaultmem expect 'who tiled the roof' 'a tiler' --remove ends" in other.err
    )
    assert on("who tiled the roof", "a tiler", "--remove").code == 0
    assert on().out == f"{QUESTION} → {ANSWER}\nwho tiled the roof → Mr Ansah\n"
    assert on("who tiled the roof", "a tiler", "--remove").code == 1
    assert on("who tiled the roof", "--remove").code == 0
    assert on().out == f"{QUESTION} → {ANSWER}\n"
    for words in ((QUESTION,), ("--run", QUESTION), ("--remove",), ("a → b", "c")):
        ended = on(*words)
        assert ended.code in (1, 2)
        assert one_line(ended)


def test_no_more_than_can_be_checked(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectations, "MOST", 2)
    with Vault(str(notes)) as vault:
        for number in range(2):
            vault.expect(f"question {number}", "an answer")
        with pytest.raises(UsageError, match="remove some"):
            vault.expect("one more", "an answer")
        with pytest.raises(VaultmemError, match="nothing is expected"):
            vault.expect("one more", remove=True)


def test_a_loss_is_no_longer_listed_once_nothing_expects_it(notes: Path) -> None:
    with Vault(str(notes)) as vault:
        vault.expect(QUESTION, "Mrs Lal")
        vault.expect(QUESTION, "Mr Bhatt")
        vault.check_expectations()
        vault.expect(QUESTION, "Mrs Lal", remove=True, dry_run=True)
        assert len(pending(notes)) == 2
        vault.expect(QUESTION, "Mrs Lal", remove=True)
        assert pending(notes) == [f"“{QUESTION}” does not find “Mr Bhatt”"]
