"""The agent as a process: what is saved is found, what is removed is not, and nothing that happens to it does
damage."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent_run import Agent, agent_on, until
from tests.agent_vault import fill, live, no_settings, own, put, reading, scratch
from tests.cli_run import ran
from tests.laws import some
from tests.mounting import mounts, runs_with_mounts

__all__ = ["live", "no_settings", "own", "scratch"]  # fixtures

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc or namespaces of Linux")


@pytest.fixture(scope="module")
def patient(own: Path) -> Iterator[Agent]:
    """An agent that believes in no loss while a test lasts, however slow the machine is."""
    never = "debounce.GONE_WAIT = debounce.EMPTY_WAIT = debounce.SHRUNK_WAIT = 3600.0"
    vault = fill(own / "patient", 3)
    with agent_on(vault, f"from vaultmem.agent import debounce; {never}") as agent:
        yield agent.watches()


def test_editors_save_in_many_ways(patient: Agent) -> None:
    folder = patient.vault / "edited"
    for name in "place atomic hidden vim logseq sync".split():
        put(folder / f"{name}.md", f"before{name} stays\n")
    patient.finds(
        "stays", *(f"edited/{name}.md" for name in "place atomic hidden vim logseq sync".split())
    )
    with reading(patient, "stays") as reader:
        temporary = "atomic.md.tmp", ".hidden.md.swp", ".syncthing.sync.md.tmp"
        for temp, name in zip(temporary, ("atomic", "hidden", "sync"), strict=True):
            put(folder / temp, f"after{name} stays\n").replace(folder / f"{name}.md")
        (folder / "vim.md").rename(folder / "vim.md~")
        put(folder / "vim.md", "aftervim stays\n")
        (folder / "vim.md~").unlink()
        shutil.copy(folder / "logseq.md", put(patient.vault / "logseq/bak/edited/logseq.md", ""))
        put(folder / "logseq.md", "afterlogseq stays\n")
        for name in "atomic hidden vim logseq sync".split():
            patient.finds(f"after{name}", f"edited/{name}.md")
            patient.finds(f'"before{name}"')
        assert all(len(found) == 6 for found in reader.seen)
    with (folder / "place.md").open("w") as file:
        for part in ("afterplace is ", "written ", "slowly, ", "lastword\n"):
            file.write(part)
            file.flush()
            time.sleep(0.2)
    patient.finds("lastword afterplace", "edited/place.md")
    patient.finds('"beforeplace"')


def test_an_emptied_note_is_found_until_it_stays_empty(live: Agent, patient: Agent) -> None:
    for agent in (patient, live):
        text = "steadfast words, enough of them to shrink\n"
        note = put(agent.vault / "moment" / "Empty.md", text)
        agent.finds("steadfast", "moment/Empty.md")
    note.write_text("")
    live.finds("steadfast")
    note = patient.vault / "moment" / "Empty.md"
    with reading(patient, "steadfast") as reader:
        for step in ("", "steadf", "steadfast words, enough of them to shrink, and more: hurrah\n"):
            note.write_text(step)
            time.sleep(0.35)
        patient.finds("hurrah", "moment/Empty.md")
    assert all(found == {"moment/Empty.md"} for found in reader.seen)


def test_a_move_is_no_deletion(live: Agent) -> None:
    vault = live.vault
    put(vault / "from" / "Wanderer.md", "wanderer\n")
    for number in range(12):
        put(vault / "deep" / "in" / f"d{number % 3}" / f"Deep {number}.md", "fathoms\n")
    live.finds("wanderer", "from/Wanderer.md")
    until(lambda: len(live.search("fathoms")) == 12)
    with reading(live, "wanderer") as reader, reading(live, "fathoms") as deep:
        here = vault / "from" / "Wanderer.md"
        for to in "from/Other.md from/other.md far/away/other.md far/away/OTHER.md Back.md".split():
            (vault / to).parent.mkdir(parents=True, exist_ok=True)
            here = here.rename(vault / to)
            live.finds("wanderer", to)
        for old, new in (("deep", "Deep"), ("Deep/in", "Deep/IN"), ("Deep", "from/deep")):
            (vault / old).rename(vault / new)
            until(lambda new=new: all(path.startswith(new) for path in live.search("fathoms")))  # type: ignore[misc]
    assert all(reader.seen)
    names = [{path.rpartition("/")[2] for path in found} for found in deep.seen]
    assert all(len(found) == 12 for found in names)


def test_what_takes_the_place_of_a_note(live: Agent, scratch: Path) -> None:
    folder = live.vault / "swap"
    for name in ("Link.md", "Folder.md", "Dir/In.md", "Both.md"):
        put(folder / name, f"{name[0].lower()}swapped\n")
    live.finds("lswapped", "swap/Link.md")
    live.finds("dswapped", "swap/Dir/In.md")
    (folder / "Link.md").unlink()
    (folder / "Link.md").symlink_to(live.vault / "base0" / "Note 0.md")
    (folder / "Folder.md").unlink()
    put(folder / "Folder.md" / "Inner.md", "fswapped\n")
    (folder / "Dir").rename(live.vault.parent / "Dir")
    (folder / "Dir").symlink_to(live.vault.parent / "Dir", target_is_directory=True)
    live.finds("lswapped")
    live.finds("fswapped", "swap/Folder.md/Inner.md")
    live.finds("dswapped")
    (folder / "Link.md").unlink()
    put(folder / "Link.md", "lswapped again\n")
    shutil.rmtree(folder / "Folder.md")
    put(folder / "Folder.md", "fswapped again\n")
    (folder / "Dir").unlink()
    (live.vault.parent / "Dir").rename(folder / "Dir")
    live.finds("lswapped", "swap/Link.md")
    live.finds("fswapped", "swap/Folder.md")
    live.finds("dswapped", "swap/Dir/In.md")
    live.settles(scratch)


def test_deletions_are_applied_after_a_moment(live: Agent, patient: Agent) -> None:
    for agent in (live, patient):
        for number in range(6):
            put(agent.vault / "doomed" / f"D{number}.md", "ephemeral\n")
        until(lambda agent=agent: len(agent.search("ephemeral")) == 6)  # type: ignore[misc]
    with reading(patient, "ephemeral") as reader:
        (patient.vault / "doomed" / "D0.md").unlink()
        time.sleep(0.5)
        put(patient.vault / "doomed" / "D0.md", "ephemeral, and back\n")
        until(lambda: patient.search('"and back" ephemeral'))
    assert all(len(found) == 6 for found in reader.seen), "a note that comes back was never away"
    (live.vault / "doomed" / "D1.md").unlink()
    live.finds("ephemeral", *(f"doomed/D{number}.md" for number in (0, 2, 3, 4, 5)))
    shutil.rmtree(live.vault / "doomed")
    live.finds("ephemeral")


def test_settings_of_the_editors_count_at_once(live: Agent) -> None:
    both = ("secret/Plan.md", "pages/secret/Page.md")
    for path in both:
        put(live.vault / path, "clandestine\n")
    live.finds("clandestine", *both)
    for file, on, left in (
        (".obsidian/app.json", '{"userIgnoreFilters": ["secret/"]}', both[1:]),
        ("logseq/config.edn", '{:hidden ["/pages/secret"]}', both[:1]),
    ):
        with reading(live, "task") as reader:
            put(live.vault / file, on)
            live.finds("clandestine", *left)
            put(live.vault / file, "{}")
            live.finds("clandestine", *both)
        assert all(reader.seen)


def test_after_all_that_the_index_equals_one_built_from_scratch(live: Agent, scratch: Path) -> None:
    live.settles(scratch)


def test_a_branch_is_checked_out(own: Path, scratch: Path) -> None:
    vault = fill(own / "repository", 3)

    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", *words],
            cwd=vault, check=True, capture_output=True,
        )  # fmt: skip

    for number in range(300):
        put(vault / f"g{number % 40}" / f"Git {number}.md", f"mainline of {number}\n")
    for command in ("init -q -b main", "add .", "commit -qm 1", "checkout -qb side"):
        git(*command.split())
    for number in range(300):
        if number % 50:
            put(vault / f"g{number % 40}" / f"Git {number}.md", f"sideline of {number}\n")
    for number in range(30):
        put(vault / "only here" / f"Extra {number}.md", "sideline\n")
    (vault / "g0" / "Git 0.md").unlink()
    for command in ("add -A", "commit -qm 2", "checkout -q main"):
        git(*command.split())
    with agent_on(vault) as agent:
        agent.watches()
        agent.finds("sideline")
        for branch in ("side", "main"):
            git("checkout", "-q", branch)
            agent.settles(scratch)
            agent.finds('"mainline of 0"', *(["g0/Git 0.md"] if branch == "main" else []))


SMALL_DISK = """
import os, subprocess, sys, time
from pathlib import Path
from tests.agent_run import agent_on, until

vault, place, scratch = map(Path, sys.argv[1:])

def mount(*words):
    subprocess.run(["mount", *words], check=True)

mount("-t", "tmpfs", "-o", "size=4m", "none", str(place))
os.environ["VAULTMEM_STATE"] = str(place / "s")
with agent_on(vault, "from vaultmem.agent import reconciler; reconciler.RETRY_AFTER = 0.5") as agent:
    agent.watches()

    def trouble_is_told(note, word):
        until(lambda: " error " in agent.err(), what="no error in the log")
        assert agent.search("apple") == whole
        assert not agent.search(word)
        assert agent.status()["last_error"]
        assert agent.process.poll() is None

    def catches_up(path, word):
        until(lambda: word and agent.search(word) == {path}, what=agent.err())
        until(agent.is_current)
        assert agent.search("apple") == whole
        agent.settles(scratch)

    whole = agent.search("apple")
    filler = place / "filler"
    with filler.open("wb", 0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    for number in range(40):
        (vault / f"Crowd {number}.md").write_text(f"overflowing {number} " * 400)
    trouble_is_told(vault, "overflowing")
    filler.unlink()
    until(lambda: len(agent.search("overflowing")) == 40, what=agent.err())
    agent.settles(scratch)

    agent.stderr.write_text("")
    mount("--bind", str(place), str(place))
    mount("-o", "remount,bind,ro", str(place))
    (vault / "Frozen.md").write_text("frozen solid")
    trouble_is_told(vault, "frozen")
    mount("-o", "remount,bind,rw", str(place))
    catches_up("Frozen.md", "frozen")
    assert "Traceback" not in agent.err()
    assert agent.ends() == 0
"""


@mounts
def test_a_full_disk_and_one_that_cannot_be_written_are_survived(own: Path, scratch: Path) -> None:
    vault, place = fill(own / "crowded", 30), own / "disk"
    place.mkdir()
    runs_with_mounts(SMALL_DISK, vault, place, scratch)


SOAK = float(os.environ.get("VAULTMEM_SOAK", some(3)))  # seconds


@linux
def test_a_busy_agent_does_not_grow(own: Path, scratch: Path) -> None:
    """Thousands of edits and searches, and at the end the same number of files and threads and the same memory."""
    vault = fill(own / "soaked", 300)
    with agent_on(vault) as agent:
        agent.watches()
        measured = [
            work_on(agent, 0, some(3))
        ]  # warm: searchers are open, the writer has its memory
        turn, end = 1, time.monotonic() + SOAK
        while time.monotonic() < end:
            measured.append(work_on(agent, turn, SOAK / 8))
            turn += 1
        agent.call("sync", rebuild=True, embed=False, confirm_removals=True)
        measured.append(agent.numbers())
        print(*measured, agent.status()["requests"], sep="\n")
        files, threads, memory = zip(*measured, strict=True)
        assert files[-1] <= files[0] + 6
        assert max(files) <= files[0] + 3 * 6  # each open searcher has some of its own
        assert max(threads[1:]) <= threads[0] + 3
        assert memory[-1] < memory[0] + 40_000_000
        assert memory[-1] < memory[len(memory) // 2] + 20_000_000
        agent.settles(scratch)


def work_on(agent: Agent, turn: int, seconds: float) -> tuple[int, int, int]:
    """Edit and search for a while, wait until it is done, and measure."""
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end or number < 100:  # a busy machine does less in the time
        number += 1
        note = agent.vault / f"base{number % 3}" / f"Note {number % 300}.md"
        put(
            note,
            f"# Note {number % 300}\n\napple roof {turn} {number} [[Note {number % 7}]]\n"
            + "more of it " * (number % 90),
        )
        if number % 10 == 0:
            extra = put(agent.vault / f"extra{number % 4}" / f"Extra {number}.md", "apple\n")
            extra.rename(extra.with_suffix(".MD" if number % 20 else ".md"))
            shutil.rmtree(agent.vault / f"extra{(number + 10) % 4}", ignore_errors=True)
        agent.call("search", query=f"apple {number % 50}")
        if number % 500 == 0:
            agent.call("sync", rebuild=number % 2000 == 0, embed=False, confirm_removals=True)
    for left in agent.vault.glob("extra*"):
        shutil.rmtree(left)
    agent.call("sync", embed=False, confirm_removals=True)
    until(agent.is_current)
    return agent.numbers()


def test_what_was_acknowledged_before_a_kill_is_found_by_the_next_search(own: Path) -> None:
    vault = fill(own / "acknowledged", 3)
    with agent_on(vault) as agent:
        agent.watches()
        for number in range(3):
            agent.call("memory", verb="write", params={"content": f"Kite {number} flies quonk"})
        agent.ends(signal.SIGKILL)
    words = ("search", "quonk", "--keyword", "--vault", str(vault), "--format", "json")
    assert len(ran(*words).data["results"]) == 3
