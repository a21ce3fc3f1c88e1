"""Several agents for one vault, how an agent starts and ends, and settings and state that change meanwhile."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent_run import PATIENCE, Agent, agent_on, differing, ending, launched, until
from tests.agent_vault import fill, live, no_settings, own, put, reading, schedule, scratch
from tests.cli_run import one_line, process
from tests.laws import some
from vaultmem import paths
from vaultmem.index.state import State

__all__ = ["live", "no_settings", "own", "scratch"]  # fixtures


def test_a_second_agent_names_the_first(live: Agent) -> None:
    second = process("serve", "--vault", str(live.vault))
    assert second.code == 1
    assert f"process {live.process.pid}" in one_line(second)
    assert live.pid() == live.process.pid


def test_of_two_agents_started_at_once_one_keeps_running(own: Path) -> None:
    vault = fill(own / "twice", 5)
    for _ in range(some(3)):
        with contextlib.ExitStack() as both:
            pair = [both.enter_context(ending(launched(vault, own / f"{n}.err"))) for n in range(2)]
            until(lambda pair=pair: sum(one.process.poll() is None for one in pair) == 1)  # type: ignore[misc]
            lives, ended = sorted(pair, key=lambda one: one.process.poll() is not None)
            assert ended.process.returncode == 1
            lives.answers()
            assert f"process {lives.process.pid}" in ended.err()


def test_what_a_dead_agent_leaves_is_no_hindrance(own: Path) -> None:
    vault = fill(own / "leftover", 5)
    with agent_on(vault) as agent:
        socket = Path(paths.socket_path(str(vault)))
        agent.watches()
        agent.process.kill()
        agent.process.wait()
        assert socket.exists()
        assert (agent.state / "lock").exists()
    assert process("search", "apple", "--vault", str(vault)).code == 0
    assert socket.exists()
    (agent.state / "lock").write_text(str(os.getpid()))
    with agent_on(vault) as agent:
        until(lambda: len(agent.search("apple")) == 5)


def test_a_sync_beside_the_agent_goes_through_it_and_searches_go_on(
    own: Path, scratch: Path
) -> None:
    vault = fill(own / "swapping", 40)
    with agent_on(vault) as agent, contextlib.ExitStack() as readers:
        agent.watches()
        all_of = [
            readers.enter_context(reading(agent, words)) for words in ("apple", "roof task", "#t1")
        ]
        for turn in range(some(8)):
            put(vault / "base0" / "Note 0.md", f"apple roof task {turn} #t1\n")
            if turn % 2:
                time.sleep(0.3)
            agent.call("sync", rebuild=True, embed=False)
        for words in ([], ["--rebuild"]):
            done = process("sync", "--no-embed", *words, "--vault", str(vault), "--format", "json")
            assert done.code == 0, done.err
            assert done.data["rebuilt"] is bool(words)
        readers.close()
        assert all(len(found) >= 8 for reader in all_of for found in reader.seen)
        assert agent.pid() == agent.process.pid
        assert len([*agent.state.glob("gen-*")]) == 1
        agent.settles(scratch)


HOLDING = """
import sys
from vaultmem.index.state import State
with State(sys.argv[1]).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_sync_that_runs_is_waited_for(own: Path) -> None:
    vault = fill(own / "patient", 5)
    words = [sys.executable, "-c", HOLDING, str(vault)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with ending(launched(vault, own / "patient.err")) as agent:
            until(lambda: f"process {holder.pid}) is at work on this vault" in agent.err())
            holder.stdin.close()
            assert holder.wait(PATIENCE) == 0
            agent.answers()
            until(lambda: len(agent.search("apple")) == 5)


@pytest.fixture(scope="module")
def large(own: Path) -> Path:
    """A vault whose first indexing takes some time."""
    vault = own / "large"
    (vault / ".obsidian").mkdir(parents=True)
    for number in range(500):
        text = (
            f"# Page {number}\n\napple roof [[Page {number * 7 % 500}]]\n\n"
            + "word of filling " * 60
        )
        put(vault / f"f{number % 30}" / f"Page {number}.md", text)
    return vault


def test_an_agent_stopped_while_indexing_ends_quickly_and_cleanly(
    large: Path, own: Path, scratch: Path
) -> None:
    """Any moment of the first indexing will do: the next start continues from there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(own / "ended"))
        state = State(str(large))
        for turn in range(6):
            number = (signal.SIGTERM, signal.SIGINT)[turn % 2]
            agent = launched(large, own / "ended.err")
            with ending(agent):
                agent.answers()
                time.sleep(0.13 * turn)
                assert agent.ends(number) == 0, agent.err()
            if turn == 3:
                shutil.rmtree(state.folder)
            assert "Traceback" not in agent.err()
        with agent_on(large) as agent:
            until(agent.is_current)
            assert not differing(large, scratch)
            assert state.is_complete()
            assert agent.ends() == 0


def test_the_first_notes_are_found_before_the_last_are_read(large: Path, own: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(own / "first"))
        few = "from vaultmem.agent import reconciler; reconciler.FIRST_BATCH = 20"
        unfinished = "the first indexing is not finished"
        with agent_on(large, few) as agent:
            until(lambda: unfinished in agent.command("recall", "apple").err)
            early = until(
                lambda: [one for one in [agent.command("search", "apple")] if one.data["results"]]
            )[0]
            assert unfinished in early.err
            until(lambda: State(str(large)).is_complete())
            assert not agent.command("search", "apple").err
            assert unfinished not in agent.command("recall", "apple").err


def test_the_agent_restarts_when_its_settings_change(own: Path) -> None:
    vault = fill(own / "settled", 5)
    config = Path(paths.config_file())
    with agent_on(vault) as agent:
        agent.watches()
        until(lambda: schedule(agent) == "5m")
        put(config, "jobs:\n  reconcile: 7m\n")
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: schedule(agent) == "7m")
        assert agent.pid() == agent.process.pid
        assert len(agent.search("apple")) == 5
        put(config, "jobs:\n  reconcile: 9m\n")
        assert process("search", "apple", "--vault", str(vault)).code == 0
        until(lambda: schedule(agent) == "9m")
        config.unlink()


def test_the_agent_survives_broken_settings(own: Path) -> None:
    vault = fill(own / "unsettled", 5)
    config = Path(paths.config_file())
    with agent_on(vault) as agent:
        agent.watches()
        put(config, "jobs: [broken\n")
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: str(config) in agent.err())
        config.unlink()
        until(lambda: agent.pid() == agent.process.pid)
        put(vault / "Late.md", "belated\n")
        until(lambda: agent.search("belated"))


def test_a_running_agent_recreates_deleted_state(own: Path, scratch: Path) -> None:
    vault = fill(own / "stateless", 20)
    with agent_on(
        vault, patch="from vaultmem.agent import agent; agent.CHECK_EVERY = 0.5"
    ) as agent:
        agent.watches()
        with reading(agent, "apple") as reader:
            gone = own / "gone"
            agent.state.rename(gone)  # at once: a new file would keep the folder
            shutil.rmtree(gone, ignore_errors=True)
            until(lambda: "answering at" in agent.log())  # new: the old log is gone, too
            reader.ending.set()
            reader.join()
            reader.errors.clear()  # it did not answer for a moment while it restarted
        until(lambda: agent.pid() == agent.process.pid and len(agent.search("apple")) == 20)
        put(vault / "Late.md", "belated\n")
        agent.finds("belated", "Late.md")
        agent.settles(scratch)
        assert process("serve", "--vault", str(vault)).code == 1
