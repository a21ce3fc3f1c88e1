"""The table of jobs: what each one does to a real vault, and the command's output."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli_run import on, one_line, ran
from tests.conftest import Write
from tests.index_dump import generation, other_state
from vaultmem import config, machine
from vaultmem.agent import jobs
from vaultmem.api import Vault
from vaultmem.index.keyword import KeywordWriter
from vaultmem.ledger.ledger import Ledger, Run
from vaultmem.settings import SETTINGS

NOW = 1_780_000_000.0


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """State and settings for each test; no model, otherwise the first test would wait for one."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    with other_state(tmp_path / "state"):
        yield


@pytest.fixture
def notes(vault: Path, write: Write) -> Path:
    """A few notes, one of them hidden and one empty."""
    for name in ("Apple", "Boiler", "Café", "计划", "2026-03-01", "-- !!", "Empty"):
        write(f"{name}.md", "" if name == "Empty" else f"# {name}\n\nText of it.\n\nMore text.\n")
    write(".obsidian/app.json", '{"userIgnoreFilters": ["Hidden/"]}')
    write("Hidden/Secret.md", "apple")
    return vault


def do(vault: Path, name: str) -> str:
    with Vault(str(vault)) as opened:
        return jobs.JOBS[name].run(opened)


def test_tidy_has_nothing_to_do_without_an_index_or_a_model(notes: Path) -> None:
    assert do(notes, "tidy") == "nothing to do: the vault is not indexed yet"
    do(notes, "reconcile")
    assert do(notes, "tidy").startswith("nothing to do: ")


def test_tidy_drops_vectors_of_texts_that_are_gone(
    notes: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VAULTMEM_EMBEDDING_MODEL")
    write("Long.md", "\n\n".join(f"## Heading {n}\n\n{f'A word on {n}. ' * 60}" for n in range(20)))
    with Vault(str(notes)) as vault:
        vault.sync()
        embedded = vault.embed()
        assert embedded.blocks > 20, embedded.remark
        assert jobs.JOBS["tidy"].run(vault) == f"{embedded.blocks} vectors kept"
        write("Long.md", "short")
        vault.sync()
        said = jobs.JOBS["tidy"].run(vault)
        dropped, kept = (int(word) for word in said.split() if word.isdigit())
        assert dropped + kept == embedded.blocks
        assert kept == len(vault.searcher().meaning().store) < dropped


def test_check_after_a_first_indexing_that_was_interrupted(notes: Path, write: Write) -> None:
    do(notes, "reconcile")
    with Vault(str(notes)) as vault:
        number = vault.state.manifest()["generation"]
        assert isinstance(number, int)
        vault.state.adopt(number, 0, complete=False)
    write("New.md", "new")
    before = generation(notes)
    said = "the first indexing was not finished, and is now; sound: 9 notes, "
    assert do(notes, "check").startswith(said)
    assert generation(notes) == before
    assert do(notes, "check").startswith("sound: 9 notes, ")


def lose_a_note(folder: Path) -> None:
    writer = KeywordWriter(str(folder / "kw"))
    with closing(sqlite3.connect(folder / "catalog.db")) as db:
        writer.remove(db.execute("SELECT min(note) FROM blocks").fetchone()[0])
    writer.commit()
    writer.close()


def lose_all_words(folder: Path) -> None:
    for file in (folder / "kw").glob("*.term"):
        file.write_bytes(b"\0" * file.stat().st_size)


def overwrite_catalog(folder: Path) -> None:
    size = (folder / "catalog.db").stat().st_size
    for beside in folder.glob("catalog.db-*"):
        beside.unlink()
    with open(folder / "catalog.db", "r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))


def lose_rows(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "catalog.db")) as db:
        db.execute(
            "DELETE FROM blocks WHERE note = (SELECT max(b.note) FROM blocks b JOIN notes n ON n.id = b.note WHERE n.excluded = 0)"
        )
        db.commit()


@pytest.mark.parametrize("harm", [lose_a_note, lose_all_words, overwrite_catalog, lose_rows])
def test_check_builds_a_damaged_index_anew(notes: Path, harm: object) -> None:
    do(notes, "reconcile")
    assert callable(harm)
    harm(generation(notes))
    said = do(notes, "check")
    assert "rebuilt" in said
    assert "damaged" in said or "the keyword index has" in said
    assert do(notes, "check").startswith("sound: 8 notes, ")
    assert on(notes, "search", "apple", "--format", "json").data["results"]


def test_check_believes_nothing_that_it_sees_while_somebody_writes(notes: Path) -> None:
    do(notes, "reconcile")
    folder = generation(notes)
    with closing(sqlite3.connect(folder / "catalog.db")) as db:
        db.execute("INSERT INTO dirty SELECT max(note) FROM blocks")  # a batch is not finished yet
        db.execute(
            "INSERT INTO blocks SELECT note, ordinal + 900, 1, 1, NULL, NULL, hash, 1, 0 FROM blocks"
        )
        db.commit()
    with Vault(str(notes)) as vault:
        assert jobs._damage(vault) is None


@pytest.mark.parametrize("name", jobs.JOBS)
def test_each_job_has_its_schedule_in_the_settings(name: str) -> None:
    assert f"jobs.{name}" in SETTINGS, "vaultmem.settings.SETTINGS says when it comes round"


def test_what_a_job_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    edit = request = 0.0
    now, battery, busy = 1_000.0, False, 0.8
    monkeypatch.setattr(machine, "on_battery", lambda: battery)
    monkeypatch.setattr(machine, "load", lambda: busy)

    def reasons(**settings: str | int) -> list[str | None]:
        values = {f"jobs.{name}": value for name, value in settings.items()}
        around = jobs.Surroundings(
            config.Config(values), lambda: edit, lambda: request, lambda: now
        )
        return [around.reason_to_wait(name) for name in ("reconcile", "expire", "tidy")]

    assert reasons() == [None, None, None]
    edit = 900.0
    assert reasons() == [None, "you are typing", "you are typing"]
    edit, request = 879.0, 999.0
    assert reasons() == [None, None, "the vault is in use"]
    now = 1_599.0
    assert reasons() == [None, None, None]
    busy = 0.81
    assert reasons()[1:] == ["the processors are busy"] * 2
    assert reasons(max_load=90)[1] is None
    battery = True
    assert reasons()[1:] == ["the computer runs on battery"] * 2
    assert reasons(battery="run", max_load=90)[1] is None


def test_the_command_lists_and_runs(notes: Path) -> None:
    words = ("--vault", str(notes), "--format")
    listed = ran("jobs", *words, "json").data
    assert listed["count"] == len(listed["jobs"]) == len(jobs.JOBS)
    assert listed["agent"] is None
    assert [one["last_run"] for one in listed["jobs"]] == [None] * len(jobs.JOBS)
    done = ran("jobs", "run", "reconcile", *words, "json")
    assert done.code == 0
    assert done.data["ok"] is True
    assert done.data["last_result"].startswith("8 added")
    ended = ran("jobs", "run", "check", *words, "text")
    assert ended.code == 0
    assert ended.out.startswith("check: sound: 8 notes")
    shown = ran("jobs", *words, "text")
    assert "the agent is not running" in shown.err
    rows = shown.out.splitlines()
    assert [row.split()[0] for row in rows] == ["job", *jobs.JOBS]
    assert "8 added, 0 changed" in rows[1]
    assert " never" in rows[2]
    assert ran("jobs", *words, "json").data["jobs"][0]["last_ok"] == done.data["last_run"]


def test_a_job_that_fails_is_told_and_remembered(notes: Path) -> None:
    words = ("--vault", str(notes), "--format")
    assert ran("jobs", "run", "reconcile", *words, "json").code == 0
    aside = notes.parent / "aside"
    for note in notes.rglob("*.md"):
        aside.mkdir(exist_ok=True)
        shutil.move(note, aside / note.name)
    ended = ran("jobs", "run", "reconcile", *words, "text")
    assert ended.code == 1
    assert "the job reconcile failed: " in one_line(ended)
    again = ran("jobs", "run", "reconcile", *words, "json")
    assert again.code == 1
    assert again.data["ok"] is False
    assert again.data["last_ok"] < again.data["last_run"]
    assert "failed: " in ran("jobs", *words, "text").out


def test_a_dry_run_does_nothing(notes: Path) -> None:
    words = ("--vault", str(notes), "--format")
    ended = ran("jobs", "run", "reconcile", "--dry-run", *words, "text")
    assert ended.code == 0
    assert "compares the whole vault with the index; it has no preview" in ended.out
    old = notes / "vaultmem/inbox/Old.md"
    old.parent.mkdir(parents=True)
    old.write_text("---\nid: m-1\nexpires_at: 2001-01-01\n---\nThe roof leaks.\n")
    for name, would in (
        ("expire", 1),
        ("decay", 0),
        ("upgrade", 0),
        ("consolidate", 1),
        ("dream", 1),
    ):
        report = ran("jobs", "run", name, "--dry-run", *words, "json").data
        assert (report["dry_run"], len(report["changes"])) == (True, would), name
    assert "would be archived: Old" in ran("jobs", "run", "expire", "--dry-run", *words, "text").out
    assert old.exists()
    assert ran("jobs", "run", "check", "--dry-run", *words, "json").data["dry_run"] is True
    with Vault(str(notes)) as vault:
        assert not vault.is_indexed()
    assert jobs.ledger(str(notes)).runs() == {}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run",), 2, "needs a NAME"),
        (("list",), 2, "'list'"),
        (("--dry-run",), 2, "--dry-run goes with"),
        (("run", "a", "b"), 2, "unrecognized"),
        (("run", "reconsile"), 2, "did you mean reconcile?"),
    ],
)
def test_what_is_typed_wrongly(vault: Path, words: tuple[str, ...], code: int, said: str) -> None:
    ended = on(vault, "jobs", *words, "--format", "text")
    assert ended.code == code
    assert said in one_line(ended)


def test_a_damaged_ledger_is_told_once_it_was_replaced(notes: Path) -> None:
    ledger: Ledger = jobs.ledger(str(notes))
    ledger.write_runs([Run("reconcile", NOW)], NOW)
    Path(ledger.path).write_bytes(b"nothing" * 1_000)
    words = ("--vault", str(notes), "--format", "text")
    assert ran("jobs", *words).code == 0
    assert ran("jobs", "run", "reconcile", *words).code == 0
    assert "starts over" in ran("jobs", *words).err
