"""The HTTP doors that are open on this machine: each writes a file below the state, which ends with it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from vaultmem import paths
from vaultmem.agent import life
from vaultmem.light import NamedTuple

_PATIENCE = 1.0  # seconds for a connection


class OpenDoor(NamedTuple):
    """A door that is open, as other programs of this user may know it. `vaults`: name in addresses -> folder."""

    url: str
    pid: int
    vaults: dict[str, str]
    is_private: bool  # whether only this machine reaches it
    until_stop: bool  # whether `vaultmem stop` ends it together with the agent


def open_doors(vault: str) -> list[OpenDoor]:
    """The doors of this user that serve a vault. A file that a killed one left is removed."""
    result = []
    for name in sorted(os.listdir(_folder())):
        place = os.path.join(_folder(), name)
        with contextlib.suppress(OSError, ValueError, TypeError), open(place, "rb") as file:
            one = OpenDoor(**json.load(file))
            if _answers(one.url):
                result.append(one)
                continue
        if not name.endswith(".tmp"):
            with contextlib.suppress(OSError):
                os.unlink(place)
    return [one for one in result if vault in one.vaults.values()]


@contextlib.contextmanager
def announced(door: OpenDoor) -> Iterator[None]:
    """Let others know of a door while it is open."""
    place = os.path.join(_folder(), f"{door.pid}.json")
    paths.replace_private(place, json.dumps(door._asdict()))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(place)


def end(doors: list[OpenDoor]) -> None:
    """End doors, and wait until they are gone, with the agents that they have started."""
    until = time.monotonic() + life.PATIENCE
    for one in doors:
        life.terminate(one.pid)
    while any(life.serves(one.pid) for one in doors) and time.monotonic() < until:
        time.sleep(0.01)


def _folder() -> str:
    return paths.make_private(os.path.join(paths.state_root(), "doors"))


def _answers(url: str) -> bool:
    address = urlsplit(url)
    with (
        contextlib.suppress(OSError),
        socket.create_connection((address.hostname or "", address.port or 0), _PATIENCE),
    ):
        return True
    return False
