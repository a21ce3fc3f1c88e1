"""Several agents for one vault; how an agent starts, restarts and ends; settings, state and program that change
meanwhile; and whose code it runs."""

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
from tests.agent_vault import fill, no_settings, own, put, reading, schedule, scratch
from tests.cli_run import process
from tests.laws import some
from vaultmem import client, machine, paths
from vaultmem.errors import VaultNotFoundError
from vaultmem.index.state import State

__all__ = ["no_settings", "own", "scratch"]  # fixtures


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
        for turn in range(4):
            number = (signal.SIGTERM, signal.SIGINT)[turn % 2]
            agent = launched(large, own / "ended.err")
            with ending(agent):
                agent.answers()
                time.sleep(0.13 * turn)
                assert agent.ends(number) == 0, agent.err()
            if turn == 2:
                shutil.rmtree(state.folder)
            assert "Traceback" not in agent.err()
        with agent_on(large) as agent:
            until(agent.is_current)
            assert not differing(large, scratch)
            assert state.is_complete()
            assert agent.ends() == 0


# The first indexing stops after some batches until a file is there.
HELD = """
import itertools, os, time
from vaultmem.agent import reconciler
reconciler.FIRST_BATCH = 20
breaths, breathe = itertools.count(), reconciler.Reconciler._breathe
def held(self):
    while next(breaths) > 200 and not os.path.exists({!r}):
        time.sleep(0.01)
    breathe(self)
reconciler.Reconciler._breathe = held
"""


def test_the_first_notes_are_found_before_the_last_are_read(large: Path, own: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTMEM_STATE", str(own / "first"))
        goes_on = own / "goes on"
        unfinished = "the first indexing is not finished"
        with agent_on(large, HELD.format(str(goes_on))) as agent:
            assert unfinished in agent.command("recall", "apple").err
            early = until(
                lambda: [one for one in [agent.command("search", "apple")] if one.data["results"]]
            )[0]
            assert unfinished in early.err
            goes_on.touch()
            until(lambda: State(str(large)).is_complete())
            assert not agent.command("search", "apple").err
            assert unfinished not in agent.command("recall", "apple").err


def test_the_agent_restarts_when_its_settings_change_and_survives_broken_ones(own: Path) -> None:
    vault = fill(own / "settled", 5)
    config = Path(paths.config_file())
    with agent_on(vault) as agent:
        agent.watches()
        until(lambda: schedule(agent) == "5m")
        put(config, "jobs:\n  reconcile: 7m\n")
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: schedule(agent) == "7m")
        assert agent.pid() == agent.process.pid
        put(config, "jobs: [broken\n")
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: str(config) in agent.err())
        put(config, "jobs:\n  reconcile: 9m\n")
        assert process("search", "apple", "--vault", str(vault)).code == 0
        until(lambda: schedule(agent) == "9m")
        assert len(agent.search("apple")) == 5


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


# --- restarts


QUICK = "from vaultmem.agent import agent; agent.CHECK_EVERY = 0.2"


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VAULTMEM_EMBEDDING_MODEL")  # of commands; the agent has none
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    put(tmp_path / "vault" / "Note.md", "An apple.")
    return tmp_path / "vault"


def finds_the_apple(agent: Agent) -> bool:
    """Also during a restart, when nobody answers."""
    with contextlib.suppress(client.AgentError, TypeError):
        return bool(agent.call("search", query="apple")["count"])
    return False


def test_a_socket_that_was_removed_comes_back(vault: Path) -> None:
    with agent_on(vault, QUICK) as agent:
        os.unlink(paths.socket_path(str(vault)))
        until(lambda: agent.pid() == agent.process.pid)
        assert "the socket was removed; restarting" in agent.log()
        until(lambda: finds_the_apple(agent))


def test_an_agent_gives_way_to_a_write_into_its_renamed_vault(vault: Path) -> None:
    """The state moves along, with the lock that it holds; it would otherwise notice at its next check only."""
    with agent_on(vault, "from vaultmem.agent import agent; agent.CHECK_EVERY = 3600.0") as agent:
        agent.watches()
        assert process("write", "A plum", "--vault", str(vault)).code == 0  # which marks the vault
        until(agent.is_current)
        new = vault.rename(vault.with_name("renamed"))
        assert process("write", "A pear", "--vault", str(new)).code == 0
        assert agent.process.wait(PATIENCE) == 1
        assert f"{vault} does not exist" in agent.err()


def test_a_thread_that_dies_is_noticed(vault: Path) -> None:
    dies = "from vaultmem.agent import reconciler; reconciler.Reconciler._turn = lambda self: sys.exit()"
    with agent_on(vault, f"{QUICK}; {dies}") as agent:
        until(lambda: "the thread for reconciler has died" in agent.log())
        until(lambda: finds_the_apple(agent))  # restarted, without the fault
        assert agent.pid() == agent.process.pid


NUMBER = "from vaultmem import machine; machine.program = lambda: {}"


def version_of(agent: Agent) -> str:
    """Its version, or "" while it restarts."""
    with contextlib.suppress(client.AgentError, TypeError):
        return str(agent.status()["version"])
    return ""


def test_an_update_of_the_program_is_noticed(vault: Path) -> None:
    """Once its files stay the same for two checks; until then it is still being installed."""
    installed = vault.parent / "installed"
    installed.write_text("1")
    with agent_on(vault, f"{QUICK}; {NUMBER.format(f'open({str(installed)!r}).read()')}") as agent:
        assert agent.status()["version"] == "1"
        installed.write_text("")  # the program is gone; it may come back
        time.sleep(1)  # several checks
        assert "restarting" not in agent.log()
        installed.write_text("2")
        until(lambda: "vaultmem was updated; restarting" in agent.log())
        until(lambda: version_of(agent) == machine.program())
        until(lambda: finds_the_apple(agent))
        assert agent.pid() == agent.process.pid


def test_an_agent_of_another_version_is_named_and_replaced(vault: Path) -> None:
    reads_another_index = "from vaultmem.index import state; state._VERSIONS['format'] = 'old'"
    knows_less = (
        "from vaultmem.api import rpc;"
        "rpc._check = lambda *_: (_ for _ in ()).throw(rpc.UsageError('unknown parameter'))"
    )
    with agent_on(
        vault, f"{NUMBER.format(repr('0.0.1'))}; {reads_another_index}; {knows_less}"
    ) as agent:
        agent.watches()
        for words in (["search", "--semantic", "apple"], ["write", "A pear"], ["status"]):
            ended = process(*words, "--vault", str(vault))
            assert client.OTHER_VERSION in ended.out + ended.err, words
        assert "the agent is of version 0.0.1" in process("doctor", "--vault", str(vault)).out
        try:
            assert process("start", "--vault", str(vault)).out.startswith("agent started in ")
            assert agent.process.wait(60) == 0
            until(
                lambda: process("search", "apple", "--vault", str(vault)).out
            )  # its index is read again
        finally:
            process("stop", "--vault", str(vault))


def test_a_stop_during_a_restart_stops_the_agent(vault: Path) -> None:
    told = (
        "import os; from vaultmem.agent.agent import Agent;"
        "Agent._end = lambda self, real=Agent._end: (os.kill(os.getpid(), 15), real(self))"
    )
    with agent_on(vault, told) as agent:
        agent.process.send_signal(signal.SIGHUP)
        assert agent.process.wait(60) == 0


def test_no_module_is_imported_from_the_working_directory(vault: Path) -> None:
    """A vault may come from anywhere, and python -m would look there first."""
    trap = vault.parent / "trapped"
    for name in ("vaultmem.py", "json.py", "logging.py", "watchdog.py", "sitecustomize.py"):
        (vault / name).write_text(f"open({str(trap)!r}, 'w').close()")
    code = "import sys; sys.path.remove(''); from vaultmem import cli; sys.exit(cli.main(sys.argv[1:]))"
    for words in (["start"], ["restart"], ["stop"]):
        ended = subprocess.run(
            [sys.executable, "-c", code, *words, "--vault", str(vault)],
            cwd=vault, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
    with agent_on(vault) as agent:
        agent.process.send_signal(signal.SIGHUP)
        until(lambda: "restarting" in agent.log())
        until(lambda: agent.pid() == agent.process.pid)
    assert not trap.exists()


def test_a_home_folder_is_no_vault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("/", "~", str(tmp_path)):
        with pytest.raises(VaultNotFoundError, match="all your files"):
            paths.check_vault(folder)
    (tmp_path / ".obsidian").mkdir()
    assert paths.check_vault("~") == str(tmp_path)
