"""Starting and ending a vault's agent, finding its process from outside, and the open HTTP doors of this machine:
each writes a file below the state, which is removed with it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import urlsplit

from vaultmem import client, config, machine, paths
from vaultmem.errors import StateError, VaultNotFoundError
from vaultmem.light import NamedTuple
from vaultmem.service import log, service
from vaultmem.service.service import Service
from vaultmem.text.values import value

PATIENCE = 10.0  # seconds for an agent to answer, or to end
SYNC_PATIENCE = 60.0  # seconds that an agent itself waits for a running sync
_STOP_TIMEOUT = 2.0  # seconds for the agent to answer the request to stop


@value
class Life:
    """What happened to an agent: started, running (already), stopped, or none (there was none)."""

    status: str
    pid: int | None
    seconds: float
    by: str | None  # its service, if any


def vault_of(named: str | None) -> str:
    """The vault meant; an agent can be ended even if its vault's folder is gone."""
    try:
        return config.choose_vault(named)
    except VaultNotFoundError:
        named = named or os.environ.get("VAULTMEM_VAULT") or config.load(None).text("vault")
        folder = os.path.abspath(os.path.expanduser(named)) if named else ""
        if not folder or not os.path.isdir(paths.state_folder(folder)):
            raise
        return folder


def ping(vault: str) -> int | None:
    """The process id of the agent that answers for a vault."""
    try:
        reply = client.call(vault, "ping", {}, timeout=_STOP_TIMEOUT)
    except client.AgentError:
        return None
    pid = reply.get("pid") if isinstance(reply, dict) else None
    return pid if isinstance(pid, int) else None


def installed_service(vault: str) -> Service | None:
    """The service of a vault, if it is installed."""
    try:
        candidate = service.service_for(vault)
    except StateError:
        return None
    return candidate if service.is_installed(candidate) else None


def _active_service(vault: str) -> str | None:
    installed = installed_service(vault)
    return installed.name if installed and service.is_active(installed) else None


# --- starting


def start(vault: str) -> Life:
    """Start the agent and wait until it answers. Raises StateError with the reason if it does not."""
    began = time.monotonic()
    state = paths.state_folder(vault)
    if (pid := _answering(vault, state)) and client.is_of_other_version(vault):
        stop(vault)
    elif pid:
        return Life("running", pid, 0.0, _active_service(vault))
    installed = installed_service(vault)
    if installed and service.run(installed.resume) is None:
        return Life("started", _wait(vault, None, began), time.monotonic() - began, installed.name)
    child = _spawn(vault, state)
    pid = _wait(vault, child, began)
    status = "started" if pid == child.pid else "running"
    return Life(status, pid, time.monotonic() - began, None)


def _answering(vault: str, state: str) -> int | None:
    """The running agent, even if it is only just starting."""
    end = time.monotonic() + PATIENCE
    while True:
        if pid := ping(vault):
            return pid
        held = holder(state)
        if held is None or not held.is_agent:
            return None
        if time.monotonic() > end:
            what = f"process {held.pid} is the agent of this vault and does not answer"
            raise StateError(f"{what}; vaultmem restart ends it and starts another")
        time.sleep(0.1)


def _spawn(vault: str, state: str) -> subprocess.Popen[bytes]:
    try:
        out = log.open_out(state)
    except OSError as error:
        raise StateError(f"cannot write the log in {state}: {error.strerror}") from error
    try:
        return subprocess.Popen(
            service.agent_command(vault), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            cwd="/", start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(out)


def _wait(vault: str, child: subprocess.Popen[bytes] | None, began: float) -> int:
    """The agent's process id as soon as it answers; `child` is the process if we started it. One that another start
    has overtaken ends by itself."""
    while time.monotonic() - began < SYNC_PATIENCE:
        has_ended = child is not None and child.poll() is not None
        if pid := ping(vault):
            if child is not None:
                child.returncode = 0  # it must outlive us, and nobody waits for it
            return pid
        held = holder(paths.state_folder(vault)) if has_ended else None
        if has_ended and not (held and held.is_agent):
            raise StateError(f"the agent ended at once: {_last_words(vault)}")
        time.sleep(0.02)
    if child is not None:
        child.kill()  # it does not listen, and killing it does no harm
        child.wait()
    raise StateError(
        f"the agent has not answered for {SYNC_PATIENCE:.0f} seconds: {_last_words(vault)}"
    )


def _last_words(vault: str) -> str:
    """Why an agent ended, as far as it could still report."""
    state = paths.state_folder(vault)
    words = log.last_line(log.out_file(state)) or log.last_line(log.log_file(state))
    words = words.removeprefix("vaultmem: ") or "no reason is in its log"
    return f"{words} (the log is {log.log_file(state)})"


# --- ending


def stop(vault: str) -> Life:
    """End the agent and wait until it has ended. Raises StateError if it does not end."""
    began = time.monotonic()
    state, by, pid = paths.state_folder(vault), _active_service(vault), ping(vault)
    if pid is None or not _request_stop(vault):
        held = holder(state)
        if held is None or (held.pid is not None and not held.is_agent):
            return Life("none", None, 0.0, None)
        if not send(state, signal.SIGTERM):
            what = f"some process holds {os.path.join(state, 'lock')}, and it is unknown which"
            raise StateError(f"{what}; end it by hand, then try again")
        pid = held.pid
    is_free = wait_until_free(state, PATIENCE)
    if not is_free and not (send(state, signal.SIGTERM) and wait_until_free(state, PATIENCE / 2)):
        what = f"the agent (process {pid}) has not ended within {PATIENCE:.0f} seconds"
        raise StateError(f"{what}; kill -9 {pid} ends it, and nothing is lost by that")
    return Life("stopped", pid, time.monotonic() - began, by)


def _request_stop(vault: str) -> bool:
    try:
        return client.call(vault, "stop", {}, timeout=_STOP_TIMEOUT) is not client.NO_AGENT
    except client.AgentError as error:
        return error.code == 0  # it ended before answering


# The holder of a state folder's lock. A process id in a file proves nothing, because ids are reused.

_LOOKS, _BETWEEN = 3, 0.02


@value
class Holder:
    """The writing process: its id (None if unproven), and whether it is an agent."""

    pid: int | None
    is_agent: bool


def holder(state: str) -> Holder | None:
    """The process that holds the lock now, or None."""
    path = os.path.join(state, "lock")
    for _ in range(_LOOKS):
        if not _is_held(path):
            return None
        pid = _number_in(path)
        if pid is not None and machine.has_open(pid, path):
            return Holder(pid, is_agent=serves(pid))
        time.sleep(_BETWEEN)  # it may have taken the lock but not written its id yet
    return Holder(None, is_agent=False)


def serves(pid: int) -> bool:
    """Whether a process is an agent or a door: `vaultmem serve`, by whatever path, or with -m."""
    return any(
        os.path.basename(word) == "vaultmem" and following == "serve"
        for word, following in pairwise(machine.command_line(pid))
    )


def wait_until_free(state: str, seconds: float) -> bool:
    """Wait for the lock to be released. Returns False if it was not."""
    path, end = os.path.join(state, "lock"), time.monotonic() + seconds
    while _is_held(path):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def send(state: str, number: signal.Signals) -> bool:
    """Send a signal only to the agent that holds the lock. Returns False if there is none."""
    held = holder(state)
    if held is None or held.pid is None or not held.is_agent:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(held.pid, number)
        return True
    return False


def _is_held(path: str) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _number_in(path: str) -> int | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            text = file.read(20).strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() and int(text) > 1 else None


# --- the doors

_CONNECTION = 1.0  # seconds for a connection


class OpenDoor(NamedTuple):
    """An open door, as seen by other programs of this user. `vaults`: name in addresses -> folder."""

    url: str
    pid: int
    vaults: dict[str, str]
    is_private: bool  # whether only this machine can reach it
    until_stop: bool  # whether `vaultmem stop` also ends it


def open_doors(vault: str) -> list[OpenDoor]:
    """This user's doors that serve a vault. Files left by killed ones are removed."""
    result = []
    for name in sorted(os.listdir(_doors())):
        place = os.path.join(_doors(), name)
        with contextlib.suppress(OSError, ValueError, TypeError), open(place, "rb") as file:
            door = OpenDoor(**json.load(file))
            if _answers(door.url):
                result.append(door)
                continue
        if not name.endswith(".tmp"):
            with contextlib.suppress(OSError):
                os.unlink(place)
    return [door for door in result if vault in door.vaults.values()]


@contextlib.contextmanager
def announced(door: OpenDoor) -> Iterator[None]:
    """Announce a door while it is open."""
    place = os.path.join(_doors(), f"{door.pid}.json")
    paths.replace_private(place, json.dumps(door._asdict()))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(place)


def end_doors(doors: list[OpenDoor]) -> None:
    """End doors and the agents that they started, and wait until they have ended."""
    until = time.monotonic() + PATIENCE
    for door in doors:
        if serves(door.pid):  # the id may have been used again
            with contextlib.suppress(ProcessLookupError):
                os.kill(door.pid, signal.SIGTERM)
    while any(serves(door.pid) for door in doors) and time.monotonic() < until:
        time.sleep(0.01)


def _doors() -> str:
    return paths.make_private(os.path.join(paths.state_root(), "doors"))


def _answers(url: str) -> bool:
    address = urlsplit(url)
    with (
        contextlib.suppress(OSError),
        socket.create_connection((address.hostname or "", address.port or 0), _CONNECTION),
    ):
        return True
    return False
