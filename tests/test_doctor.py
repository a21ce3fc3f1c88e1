"""What doctor finds about the agent, and that each finding names a command to type."""

import fcntl
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import on
from tests.conftest import Write
from tests.index_dump import synced
from tests.tables import each_case
from vaultmem import machine, paths
from vaultmem.api import Vault
from vaultmem.index.state import State
from vaultmem.service import doctor, service

WELL: dict[str, Any] = {
    "pid": 1, "version": machine.program(), "started": 0, "uptime": 7_300, "current": True, "indexing": None,
    "waiting": 0, "embedding": {"waiting": 0, "done": 0, "running": False},
    "model": {"name": "default", "loaded": True, "trouble": None}, "memory_bytes": 80_000_000,
    "watching": {"alive": True, "whole": True, "trouble": None}, "vanished": None,
    "jobs": [{"name": "reconcile", "ok": True, "last_result": "fine"}],
    "requests": 0, "connections": 0, "last_error": None, "idle": True,
}  # fmt: skip
COMMANDS = {"", "vaultmem sync", "vaultmem restart", "vaultmem start", "vaultmem service install"}
TYPED = re.compile(
    r"\b(?:vaultmem (?:start|restart|sync|status|service|jobs|history)|chmod|chown|rm|tail|lsof|sysctl|pip (?:un)?install)\b"
)


@pytest.fixture
def indexed(vault: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    write("A.md", "# A\n\nquincunx\n")
    synced(vault)
    return vault


def state_of(vault: Path) -> str:
    return State(str(vault)).folder


def says(status: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that reports this about itself."""
    monkeypatch.setattr(Vault, "agent", lambda _: status)


def found(vault: Path) -> list[str]:
    """What doctor finds; every finding names a command to type."""
    ended = on(vault, "doctor", "--format", "json")
    findings = ended.data["findings"]
    assert ended.code == int(any(finding["severity"] == "error" for finding in findings))
    for finding in findings:
        assert TYPED.search(finding["advice"]), finding
        assert finding["command"] in finding["advice"], "a button does what is advised"
        assert finding["command"] in COMMANDS or finding["command"].startswith("vaultmem jobs run ")
    return [f"{finding['severity']}: {finding['what']}" for finding in findings]


def test_an_index_of_another_version_is_called_that(indexed: Path) -> None:
    manifest = Path(state_of(indexed), "manifest.json")
    manifest.write_text(manifest.read_text().replace('"catalog": ', '"catalog": 1'))
    assert found(indexed) == ["warning: the index is of another version of vaultmem"]
    manifest.unlink()
    assert found(indexed) == ["warning: the vault is not indexed"]
    assert "→ run vaultmem sync\n" in on(indexed, "doctor").out


def test_nothing_is_wrong_without_an_agent_or_with_one_that_is_well(
    indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(indexed) == []
    says(WELL, monkeypatch)
    assert found(indexed) == []
    for level, age in (("warn", 60), ("error", 30 * 86_400)):  # left in the log
        last = {"time": time.time() - age, "level": level, "message": "x"}
        says({**WELL, "last_error": last}, monkeypatch)
        assert found(indexed) == []


STATUS = {
    "warning: the agent is of version 0.0.1": {"version": "0.0.1"},
    "warning: the agent does not notice changes to notes (thread died)": {
        "watching": {"alive": False, "whole": False, "trouble": "thread died"}
    },
    "warning: the agent does not watch all folders (limit)": {
        "watching": {"alive": True, "whole": False, "trouble": "limit"}
    },
    "error: the agent has stopped reading: 80 of 81 notes": {"vanished": "80 of 81 notes are gone"},
    "warning: the agent uses 2.0 GB": {"memory_bytes": 2_000_000_000},
    "warning: the job tidy failed: no room": {
        "jobs": [{"name": "tidy", "ok": False, "last_result": "no room"}]
    },
    "note: the agent's last error, 3 hours ago: no room": {
        "last_error": {"time": time.time() - 3 * 3600 - 60, "level": "error", "message": "no room"}
    },
}


@each_case("what", STATUS)
def test_what_the_agent_reports(indexed: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    says({**WELL, **STATUS[what]}, monkeypatch)
    assert [one[: len(what)] for one in found(indexed)] == [what]


def test_an_agent_that_does_not_answer(indexed: Path) -> None:
    """Another process with its words on its command line holds the lock."""
    lock = os.path.join(state_of(indexed), "lock")
    code = (
        "import fcntl, os, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX);"
        "file.write(str(os.getpid())); file.flush(); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, lock, "vaultmem", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        told = found(indexed)
    assert told == [f"error: the agent (process {holder.pid}) does not answer"]
    with open(lock, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert found(indexed) == ["warning: the index is locked by a process that cannot be identified"]  # fmt: skip


def findings(vault: Path) -> list[dict[str, Any]]:
    """After a sync."""
    on(vault, "sync")
    return list(on(vault, "doctor", "--format", "json").data["findings"])


def test_what_cannot_be_read_is_named_with_its_place_and_mended_by_its_cause(
    indexed: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("vaultmem/people/Anne.md", "---\ncategory: people\nvaultmem: nonsense\n---\nAnne lives in Lisbon\n")  # fmt: skip
    (memory,) = findings(indexed)
    assert memory["what"] == "1 memory whose line vaultmem says nothing that can be read"
    assert memory["places"] == ["vaultmem/people/Anne.md:3: vaultmem: nonsense"]
    write("Plan.md", "<<<<<<< HEAD\nA\n=======\nB\n>>>>>>> 59b3155\n")
    (merge,) = (one for one in findings(indexed) if one != memory)
    assert merge["what"] == "1 note that Git could not merge"
    assert merge["places"] == ["Plan.md: front matter: holds both versions of an unresolved merge"]
    monkeypatch.setenv("VAULTMEM_INDEX_MAX_NOTE_BYTES", "1000000")
    write("Long.md", "An apple. " * 200_000)
    for path in ("Templates/Film.md", "Film form.md"):
        write(path, "---\ndate: {{date}}\n---\n")
    write("Latin.md", b"sch\xf6n")
    write("caf\u00e9.md", "composed")
    write("cafe\u0301.md", "decomposed")
    advice = {
        place.partition(":")[0]: one["advice"]
        for one in findings(indexed)
        for place in one["places"]
    }
    assert "save it again as UTF-8" in advice["Latin.md"]
    assert "templates" in advice["Film form.md"]
    assert "Templates/Film.md" not in advice
    assert "index.max_note_bytes" in advice["Long.md"]
    assert "caf\u00e9.md" not in advice or advice["caf\u00e9.md"].startswith("rename the file")


def test_memories_in_a_folder_that_is_no_longer_the_memory_folder_are_named(indexed: Path) -> None:
    with Vault(str(indexed)) as vault:
        vault.write("A pear")
    assert found(indexed) == []
    (indexed / "vaultmem").rename(indexed / "Brain")
    on(indexed, "sync")
    assert found(indexed) == [
        "warning: memories in the folder Brain are not read, as memory_folder is vaultmem"
    ]


def test_a_copy_of_a_page_of_ours_has_its_original(indexed: Path, write: Write) -> None:
    copy = "pending.sync-conflict-20261122-100000-ABCDEFG.md"
    for name in (copy, f"Gone{copy[7:]}", "pending.md"):
        write(f"vaultmem/{name}", "# Pending\n\nquincunx\n")
    told = str(findings(indexed))
    assert f"vaultmem/{copy} is a copy of vaultmem/pending.md" in told
    assert f"vaultmem/Gone{copy[7:]} is a copy of a note that is gone" in told


def test_folders_that_others_may_look_into(indexed: Path) -> None:
    run, state = os.path.dirname(paths.socket_path(str(indexed))), state_of(indexed)
    for folder in (state, os.path.join(state, "log"), run):
        paths.make_private(folder)
        os.chmod(folder, 0o755)
        assert found(indexed) == [f"warning: other users can read {folder}"]
        os.chmod(folder, 0o700)
    if os.getuid() == 0:  # only root can give a folder away
        os.chown(run, 12_345, -1)
        assert found(indexed) == [f"error: {run} belongs to another user; the agent cannot use it"]
    os.rmdir(run)
    Path(run).write_text("")
    assert found(indexed) == [f"error: {run} is not a folder"]


def test_a_service_that_does_not_run(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    service.write(service.service_for(str(indexed)))
    (told,) = found(indexed)
    assert told.endswith("is installed, but no agent is running")
    with monkeypatch.context() as patched:
        says(WELL, patched)
        assert found(indexed) == []
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nowhere/bin/python")
        service.write(service.service_for(str(indexed)))
    (told,) = found(indexed)
    assert told.startswith("error: the service vaultmem-vault-")
    assert "starts /nowhere/bin/python, which is not there" in told


def test_an_index_that_nobody_keeps_fresh(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 3_600 + 30)
    hours = "the index is 2 hours old; vaultmem sync refreshes it"
    assert hours in on(indexed, "search", "zzzz").err, "who finds nothing hears so"
    assert on(indexed, "search", "quincunx").err == ""
    monkeypatch.setattr(time, "time", lambda: now + 3 * 86_400 + 60)
    days = "the index is 3 days old; vaultmem sync refreshes it"
    for command in ("search roof", "tasks", "pending", "unresolved"):
        assert days in on(indexed, command, "--format", "text").err
        assert "days old" not in on(indexed, command, "--format", "json").err
    assert found(indexed) == ["warning: the index is 3 days old, and no agent keeps it fresh"]
    says(WELL, monkeypatch)
    assert found(indexed) == []


def test_what_status_shows_of_the_agent(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(**told: object) -> str:
        says({**WELL, **told}, monkeypatch)
        ended = on(indexed, "status", "--format", "text")
        assert ended.code == 0
        assert on(indexed, "status", "--format", "json").data["agent"] == {**WELL, **told}
        return "\n".join(" ".join(line.split()) for line in ended.out.splitlines())

    assert "agent running (pid 1), up 2 hours 1 minute, index is current\n" in shown()
    assert "up 2 hours 1 minute, reading 5 of 1,000\n" in shown(
        indexing={"stage": "reading", "done": 5, "total": 1000}
    )
    assert "3 paths to read, 7 blocks to embed\n" in shown(waiting=3, embedding={"waiting": 7})
    assert "looking for changes" in shown(current=False)
    assert "waiting: 80 notes are gone" in shown(vanished="80 notes are gone")
    assert "memory 80.0 MB, model default loaded" in shown()
    assert "watching limit reached" in shown(
        watching={"alive": True, "whole": False, "trouble": "limit reached"}
    )
    assert "jobs 1, failed: tidy (vaultmem jobs)" in shown(jobs=[{"name": "tidy", "ok": False}])
    reminders = {"next": "2026-11-25T08:30+01:00", "troubles": []}
    assert "next reminder 2026-11-25 08:30\n" in shown(reminders=reminders) + "\n"
    assert "last error 2 minutes" in shown(
        last_error={"time": time.time() - 125, "level": "error", "message": "no room"}
    )


def test_status_without_an_agent(indexed: Path) -> None:
    assert on(indexed, "status", "--format", "json").data["agent"] is None
    assert "not running; vaultmem start" in on(indexed, "status", "--format", "text").out


def test_a_damaged_history(indexed: Path) -> None:
    for words in (("write", "The roof is red"), ("history",)):
        assert on(indexed, *words).code == 0
    folder = Path(state_of(indexed), "history.git")
    (folder / "refs/heads/main").write_text("1" * 40)
    assert any("the history of the memories is damaged" in what for what in found(indexed))
    assert on(indexed, "write", "The roof is green").code == 0
    said = on(indexed, "history", "--format", "json")
    assert [one["why"] for one in said.data["history"]] == [
        "write The roof is green",
        "as it was found",
    ]
    (what,) = [what for what in found(indexed) if "history" in what]
    assert "set aside" in what


def test_files_of_another_user_are_found(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after sudo. Read-only files of ours, such as Git's, are none."""
    for words in (("write", "The roof is red"), ("history",)):
        assert on(indexed, *words).code == 0
    assert not any("of the state" in what for what in found(indexed))
    may, walked = os.access, os.walk
    monkeypatch.setattr(os, "access", lambda path, mode: may(path, mode) and path[-4:] != ".git")
    monkeypatch.setattr(os, "walk", lambda top: [*walked(top), (top, [], ["just removed"])])
    assert "1 file of the state cannot be read or written" in "\n".join(found(indexed))


def test_a_full_disk_of_the_notes_is_found(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_is_full", str(indexed).__eq__)
    assert any("the disk is full on which the notes are" in one for one in found(indexed))
