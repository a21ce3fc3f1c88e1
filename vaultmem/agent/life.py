"""Start and end the agent of a vault, from outside of it."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from vaultmem import client, config, paths
from vaultmem.agent import log, service
from vaultmem.agent.peer import holder, send, wait_until_free
from vaultmem.agent.service import Service
from vaultmem.errors import StateError, VaultNotFoundError
from vaultmem.text.values import value

PATIENCE = 10.0  # seconds in which an agent must answer, or be gone
SYNC_PATIENCE = 60.0  # seconds that an agent waits itself for a sync that is running
_ASKED = 2.0


@value
class Life:
    """What became of an agent: started, running (it was before), stopped, or none (there was none)."""

    status: str
    pid: int | None
    seconds: float
    by: str | None  # the service that looks after it, if one does


def vault_of(named: str | None) -> str:
    """The vault that is meant; of one whose folder is gone, the agent can be ended all the same."""
    configured = config.load(None).text("vault")
    try:
        return paths.choose_vault(named, configured)
    except VaultNotFoundError:
        named = named or os.environ.get("VAULTMEM_VAULT") or configured
        folder = os.path.abspath(os.path.expanduser(named)) if named else ""
        if not folder or not os.path.isdir(paths.state_folder(folder)):
            raise
        return folder


def ping(vault: str) -> int | None:
    """The process number of the agent that answers for a vault."""
    try:
        reply = client.call(vault, "ping", {}, timeout=_ASKED)
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


# --- starting


def start(vault: str) -> Life:
    """Start the agent and wait until it answers. Raises StateError with its reason when it does not."""
    began = time.monotonic()
    state = paths.state_folder(vault)
    if pid := _answering(vault, state):
        installed = installed_service(vault)
        return Life(
            "running",
            pid,
            0.0,
            installed.name if installed and service.is_active(installed) else None,
        )
    installed = installed_service(vault)
    if installed and service.run(installed.resume) is None:
        return Life("started", _wait(vault, None, began), time.monotonic() - began, installed.name)
    child = _spawn(vault, state)
    pid = _wait(vault, child, began)
    status = "started" if pid == child.pid else "running"
    return Life(status, pid, time.monotonic() - began, None)


def _answering(vault: str, state: str) -> int | None:
    """The agent that runs, also one that is only just starting."""
    end = time.monotonic() + PATIENCE
    while True:
        if pid := ping(vault):
            return pid
        held = holder(state)
        if held is None or not held.is_agent:
            return None
        if time.monotonic() > end:
            raise StateError(
                f"process {held.pid} is the agent of this vault and does not answer; "
                "vaultmem restart ends it and starts another"
            )
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
    """The number of the agent as soon as it answers; `child` is it, where we started it ourselves."""
    while time.monotonic() - began < (SYNC_PATIENCE if _sync_runs(vault) else PATIENCE):
        ended = child is not None and child.poll() is not None
        if pid := ping(vault):
            if child is not None and not ended:
                _let_go(child, pid)
            return pid
        if ended and not _another_is_starting(vault):
            raise StateError(f"the agent ended at once: {_last_words(vault)}")
        time.sleep(0.02)
    if child is not None:
        child.kill()  # it does not listen, and no sudden end does harm
        child.wait()
    raise StateError(f"the agent has not answered for {PATIENCE:.0f} seconds: {_last_words(vault)}")


def _let_go(child: subprocess.Popen[bytes], answering: int) -> None:
    """Leave the agent alone; but end ours when another one, started at the same moment, was faster."""
    if child.pid == answering:
        child.returncode = 0  # it is to outlive us, and nobody is to wait for it
        return
    child.kill()
    child.wait()


def _another_is_starting(vault: str) -> bool:
    held = holder(paths.state_folder(vault))
    return held is not None and held.is_agent


def _sync_runs(vault: str) -> bool:
    held = holder(paths.state_folder(vault))
    return held is not None and not held.is_agent


def _last_words(vault: str) -> str:
    """Why an agent ended, as far as it could still say."""
    state = paths.state_folder(vault)
    words = log.last_line(log.out_file(state)) or log.last_line(log.log_file(state))
    words = words.removeprefix("vaultmem: ") or "no reason is in its log"
    return f"{words} (the log is {log.log_file(state)})"


# --- ending


def stop(vault: str) -> Life:
    """End the agent and wait until it is gone. Raises StateError when it will not go."""
    began = time.monotonic()
    state = paths.state_folder(vault)
    installed = installed_service(vault)
    by = installed.name if installed and service.is_active(installed) else None
    pid = ping(vault)
    if pid is None or not _asked_to_stop(vault):
        held = holder(state)
        if held is None or (held.pid is not None and not held.is_agent):
            return Life("none", None, 0.0, None)
        if not send(state, signal.SIGTERM):
            raise StateError(
                f"some process holds {os.path.join(state, 'lock')}, and it is unknown which; "
                "end it by hand, then try again"
            )
        pid = held.pid
    if not wait_until_free(state, PATIENCE) and not _insisted(state):
        raise StateError(
            f"the agent (process {pid}) has not ended within {PATIENCE:.0f} seconds; "
            f"kill -9 {pid} ends it, and nothing is lost by that"
        )
    return Life("stopped", pid, time.monotonic() - began, by)


def _asked_to_stop(vault: str) -> bool:
    try:
        return client.call(vault, "stop", {}, timeout=_ASKED) is not client.NOBODY
    except client.AgentError as error:
        return error.code == 0  # it ended before it had answered


def _insisted(state: str) -> bool:
    """Whether a signal ends the agent that a request has not ended."""
    return send(state, signal.SIGTERM) and wait_until_free(state, PATIENCE / 2)
