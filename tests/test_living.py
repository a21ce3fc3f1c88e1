"""start, stop and restart with real processes: nothing is started twice, and no other process is ever ended."""

import fcntl
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli_run import Ran, one_line, process, ran
from tests.conftest import Write
from vaultmem import client, paths
from vaultmem.service import life, service
from vaultmem.service.life import holder, send, wait_until_free
from vaultmem.service.log import log_file, out_file


@pytest.fixture
def living(
    vault: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A vault with its own state, whose agent does not outlive the test."""
    monkeypatch.setenv("VAULTMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    write("A.md", "# A\n\nquincunx\n")
    state = paths.state_folder(str(vault))
    yield vault
    # One may be starting, and would have the lock next.
    for each in psutil.process_iter(["cmdline"]):
        if str(vault) in (each.info["cmdline"] or ()):
            each.kill()
    assert wait_until_free(state, 30)


def on(vault: Path, *words: str) -> Ran:
    return ran(*words, "--vault", str(vault), "--format", "json")


def state_of(vault: Path) -> str:
    return paths.state_folder(str(vault))


def test_start_and_stop(living: Path) -> None:
    started = on(living, "start")
    assert started.code == 0, started.err
    pid = started.data["pid"]
    assert started.data["status"] == "started"
    assert started.data["log"] == log_file(state_of(living))
    assert life.ping(str(living)) == pid
    found = holder(state_of(living))
    assert found is not None
    assert (found.pid, found.is_agent) == (pid, True)
    assert os.getsid(pid) == pid
    assert os.getcwd() != "/"
    if os.path.isdir("/proc"):
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
    for path in (log_file(state_of(living)), out_file(state_of(living))):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert "quincunx" not in Path(log_file(state_of(living))).read_text()

    again = on(living, "start")
    assert (again.code, again.data["status"], again.data["pid"]) == (0, "running", pid)
    stopped = on(living, "stop")
    assert (stopped.code, stopped.data["status"], stopped.data["pid"]) == (0, "stopped", pid)
    assert holder(state_of(living)) is None
    assert client.call(str(living), "ping", {}) is client.NO_AGENT
    none = on(living, "stop")
    assert (none.code, none.data["status"]) == (0, "none")


def test_what_it_says_to_a_person(living: Path) -> None:
    words = ("--vault", str(living), "--format", "text")
    assert process("start", *words).out.startswith("agent started in ")
    assert ran("start", *words).out.startswith("the agent is already running (process ")
    assert "running (pid " in ran("status", *words).out
    assert ran("stop", *words).out.startswith("agent stopped (process ")
    assert ran("stop", *words).out == f"no agent is running for {living}\n"


def test_restart_makes_another_process_and_start_one_for_a_killed_one(living: Path) -> None:
    first = on(living, "restart")
    assert (first.code, first.data["status"]) == (0, "started")
    second = on(living, "restart")
    assert second.data["status"] == "started"
    assert second.data["pid"] != first.data["pid"]
    assert life.ping(str(living)) == second.data["pid"]

    os.kill(second.data["pid"], signal.SIGKILL)
    assert wait_until_free(state_of(living), 30)
    assert os.path.exists(paths.socket_path(str(living)))
    third = on(living, "start")
    assert (third.code, third.data["status"]) == (0, "started")
    pid = third.data["pid"]
    os.remove(paths.socket_path(str(living)))
    stopped = on(living, "stop")
    assert (stopped.code, stopped.data["status"], stopped.data["pid"]) == (0, "stopped", pid)


def starting(vault: Path) -> subprocess.Popen[bytes]:
    words = ("start", "--vault", str(vault), "--format", "json")
    return subprocess.Popen(
        [sys.executable, "-m", "vaultmem", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_two_starts_at_once_make_one_agent(living: Path) -> None:
    several = [starting(living) for _ in range(3)]
    said = [one.communicate(timeout=60) for one in several]
    assert [one.returncode for one in several] == [0, 0, 0], said
    found = holder(state_of(living))
    assert found is not None
    assert all(f'"pid": {found.pid}' in out.decode() for out, _ in said)


def test_an_agent_that_cannot_start_gives_its_reason(living: Path) -> None:
    os.makedirs(state_of(living), mode=0o700)
    run = Path(paths.socket_path(str(living))).parent
    run.parent.mkdir(exist_ok=True)
    run.write_text("no folder")
    ended = process("start", "--vault", str(living), "--format", "text")
    assert ended.code == 1
    assert "the agent ended at once: " in one_line(ended)
    assert log_file(state_of(living)) in ended.err


def test_an_agent_that_hangs_is_not_taken_for_none(
    living: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = on(living, "start").data["pid"]
    monkeypatch.setattr(life, "_STOP_TIMEOUT", 0.2)
    monkeypatch.setattr(life, "PATIENCE", 0.5)
    os.kill(pid, signal.SIGSTOP)
    try:
        ended = ran("start", "--vault", str(living), "--format", "text")
        assert ended.code == 1
        assert f"process {pid} is the agent of this vault and does not answer" in one_line(ended)
        stuck = ran("stop", "--vault", str(living), "--format", "text")
        assert stuck.code == 1
        assert f"kill -9 {pid}" in one_line(stuck)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert wait_until_free(state_of(living), 30)  # the signal was only waiting for it


def test_stop_reaches_an_agent_whose_vault_is_gone(living: Path) -> None:
    assert on(living, "start").code == 0
    shutil.rmtree(living)
    stopped = on(living, "stop")
    assert (stopped.code, stopped.data["status"]) == (0, "stopped"), stopped.err


# --- a number in a file proves nothing


@pytest.fixture
def bystander() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start an unrelated process; only its words may look like ours."""
    started: list[subprocess.Popen[bytes]] = []

    def make(code: str, *words: str) -> subprocess.Popen[bytes]:
        made = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE)
        started.append(made)
        assert made.stdout is not None
        assert made.stdout.readline() == b"ready\n"
        return made

    yield make
    for one in started:
        one.kill()
        one.wait()
        if one.stdout:
            one.stdout.close()


WAITS = "import time; print('ready', flush=True); time.sleep(600)"
HOLDS = (
    "import fcntl, os, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX);"
    "file.write(str(os.getpid())); file.flush(); print('ready', flush=True); time.sleep(600)"
)


def lock_of(vault: Path) -> str:
    return os.path.join(paths.make_private(state_of(vault)), "lock")


def test_a_process_id_left_in_the_lock_file_stops_nothing(
    living: Path, bystander: Callable[..., subprocess.Popen[bytes]]
) -> None:
    other = bystander(WAITS, "vaultmem", "serve")
    Path(lock_of(living)).write_text(str(other.pid))
    assert holder(state_of(living)) is None
    assert on(living, "stop").data["status"] == "none"
    assert other.poll() is None


def test_a_number_used_again_is_not_ended_and_a_lock_file_may_hold_anything(
    living: Path, bystander: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """The lock is held, but by another process than the one whose number is in the file."""
    other = bystander(WAITS, "vaultmem", "serve")
    big = "9" * 20
    for text in ("", "no number", "0", "1", "-5", big, str(other.pid)):
        with open(lock_of(living), "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(text)
            file.flush()
            found = holder(state_of(living))
            assert found is not None
            assert found.pid is None
            assert not send(state_of(living), signal.SIGTERM)
            ended = on(living, "stop")
        assert ended.code == 1
        assert "it is unknown which" in ended.err
    assert other.poll() is None


def test_a_sync_is_not_ended(
    living: Path, bystander: Callable[..., subprocess.Popen[bytes]]
) -> None:
    other = bystander(HOLDS, lock_of(living), "sync")
    found = holder(state_of(living))
    assert found is not None
    assert (found.pid, found.is_agent) == (other.pid, False)
    assert not send(state_of(living), signal.SIGTERM)
    assert on(living, "stop").data["status"] == "none"
    assert other.poll() is None


def test_the_one_who_holds_the_lock_is_ended(
    living: Path, bystander: Callable[..., subprocess.Popen[bytes]]
) -> None:
    other = bystander(HOLDS, lock_of(living), "vaultmem", "serve")
    assert send(state_of(living), signal.SIGTERM)
    assert other.wait(60) == -signal.SIGTERM
    assert holder(state_of(living)) is None


def test_start_waits_for_a_sync_that_runs(
    living: Path, bystander: Callable[..., subprocess.Popen[bytes]]
) -> None:
    other = bystander(HOLDS, lock_of(living), "sync")
    child = starting(living)
    time.sleep(0.5)
    assert child.poll() is None
    other.kill()
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert b'"started"' in out


# --- with a service; `systemctl` is a script that starts the agent as systemd would


@pytest.fixture
def serviced(living: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The living vault with its service installed but not running."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = service.service_for(str(living))
    service.write(made)
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "systemctl"
    command = shlex.join(service.agent_command(str(living)))
    script.write_text(
        "#!/bin/sh\n"
        f'case "$2" in start) setsid {command} </dev/null >/dev/null 2>&1 & ;;\n'
        f"is-active) flock -n -s {shlex.quote(state_of(living))}/lock true && exit 3; exit 0 ;; esac\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return living


@pytest.mark.skipif(not shutil.which("flock"), reason="needs util-linux")
def test_with_a_service_the_system_starts_the_agent(serviced: Path) -> None:
    name = service.service_for(str(serviced)).name
    started = on(serviced, "start")
    assert (started.code, started.data["status"], started.data["by"]) == (0, "started", name)
    again = on(serviced, "start")
    assert (again.data["status"], again.data["by"]) == ("running", name)
    stopped = process("stop", "--vault", str(serviced), "--format", "text")
    assert stopped.code == 0
    assert f"the service {name} starts it again at the next login" in stopped.err
    assert "vaultmem service uninstall" in stopped.err


def test_with_a_service_that_fails_the_agent_is_started_all_the_same(
    serviced: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin" / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    started = on(serviced, "start")
    assert (started.code, started.data["status"], started.data["by"]) == (0, "started", None)
