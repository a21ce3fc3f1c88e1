"""What makes an agent restart, what it must cope with then, and whose code it runs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent_run import Agent, agent_on, until
from tests.cli_run import process
from vaultmem import client, machine, paths

QUICK = "from vaultmem.agent import agent; agent.CHECK_EVERY = 0.2"


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "Note.md").write_text("An apple.")
    return folder


def finds_the_apple(agent: Agent) -> bool:
    """Also during a restart, when nobody answers."""
    try:
        said = agent.call("search", query="apple")
    except client.AgentError:
        return False
    return bool(said and said["count"])


def test_a_socket_that_was_removed_comes_back(vault: Path) -> None:
    with agent_on(vault, QUICK) as agent:
        os.unlink(paths.socket_path(str(vault)))
        until(lambda: agent.pid() == agent.process.pid)
        assert "the socket was removed; restarting" in agent.log()
        until(lambda: finds_the_apple(agent))


def test_a_thread_that_dies_is_noticed(vault: Path) -> None:
    dies = "from vaultmem.agent import reconciler; reconciler.Reconciler._turn = lambda self: sys.exit()"
    with agent_on(vault, f"{QUICK}; {dies}") as agent:
        until(lambda: "the thread for reconciler has died" in agent.log())
        until(lambda: finds_the_apple(agent))  # restarted, without the fault
        assert agent.pid() == agent.process.pid


NUMBER = "from vaultmem import machine; machine.program = lambda: {}"


def version_of(agent: Agent) -> str:
    """Its version, or "" while it restarts."""
    try:
        answer = agent.call("status")
    except client.AgentError:
        return ""
    return str(answer["agent"]["version"]) if answer else ""


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


def test_repeated_restart_requests_do_not_stop_the_agent(vault: Path) -> None:
    with agent_on(vault) as agent:
        for _ in range(5):
            for _ in range(20):
                agent.process.send_signal(signal.SIGHUP)
            until(lambda: agent.pid() == agent.process.pid)
        until(lambda: finds_the_apple(agent))
        # The last of them may have opened nothing yet: then a restart has nothing to close.
        assert agent.ends() in (0, -signal.SIGTERM)


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
    from vaultmem.errors import VaultNotFoundError

    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("/", "~", str(tmp_path)):
        with pytest.raises(VaultNotFoundError, match="all your files"):
            paths.check_vault(folder)
    (tmp_path / ".obsidian").mkdir()
    assert paths.check_vault("~") == str(tmp_path)
