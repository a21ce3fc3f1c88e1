"""Access to the page: a link lets in one browser, once, and its session lasts while it is used.

A link is a file of the user, named by the hash of its secret, which follows the # in the URL: the page sends it, not
the browser, so a preview of the link does not use it up. Cookies ignore ports, so the page has a host name of its
own, which keeps them from other servers on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from vaultmem import paths

COOKIE = "vaultmem_session"
LINK_SECONDS = 300.0
_MOST = 50  # sessions
_HOST = re.compile(rb"vm-[0-9a-f]{16}\.localhost")


def host_name() -> str:
    """The host name of the page, the same for all doors of this user, and secret."""
    folder = paths.make_private(paths.state_root())
    place = os.path.join(folder, "page-host")
    with paths.FolderLock(folder):
        with contextlib.suppress(FileNotFoundError), open(place, "rb") as file:
            if match := _HOST.fullmatch(file.read(100)):
                return match[0].decode()
        name = f"vm-{secrets.token_hex(8)}.localhost"
        paths.replace_private(place, name)
    return name


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def make_link(vault: str) -> str:
    """Create a link to the page of a vault. Returns its secret. Links that nobody has used in time are removed."""
    secret = secrets.token_urlsafe(32)
    place = _place(secret)
    with os.scandir(os.path.dirname(place)) as links:
        for link in links:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - link.stat().st_mtime > LINK_SECONDS:
                    os.unlink(link.path)
    with open(place, "x", encoding="utf-8", opener=_private) as file:
        json.dump({"vault": vault, "until": time.time() + LINK_SECONDS}, file)
    return secret


def spend_link(secret: str) -> str | None:
    """Use a link. Returns its vault; None if it has expired or was used. Of two concurrent uses, the one that renames
    the file wins."""
    place = _place(secret)
    mine = f"{place}.{secrets.token_hex(4)}"
    try:
        os.rename(place, mine)
        with open(mine, encoding="utf-8") as file:
            link = json.load(file)
        os.unlink(mine)
    except (OSError, ValueError):
        return None
    return str(link["vault"]) if time.time() < link["until"] else None


def _place(secret: str) -> str:
    folder = paths.make_private(os.path.join(paths.state_root(), "page-links"))
    return os.path.join(folder, _hash(secret))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_from_another_user(scope: MutableMapping[str, Any]) -> bool:
    """Whether a request comes from a program of another user, who may have read a link in the list of processes; on
    Linux, where that list shows the arguments of all users' programs. A tunnel may belong to root."""
    uids = _owners(scope["client"][1], scope["server"][1])
    return not uids <= {0, os.getuid()}


def _owners(port: int, server_port: int) -> set[int]:
    """The users of the sockets on this machine with this port that are connected to this port of the server."""
    uids = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table, encoding="ascii") as lines:
            for _, local, remote, _, _, _, _, uid, *_ in map(str.split, lines):
                if local.endswith(f":{port:04X}") and remote.endswith(f":{server_port:04X}"):
                    uids.add(int(uid))
    return uids


@dataclass
class Notice:
    """The result of an action, for the next page."""

    text: str
    undo: str = ""  # the action that undoes it, with these fields
    fields: Mapping[str, str] = field(default_factory=dict)
    is_problem: bool = False
    draft: str = ""  # a text that could not be saved


@dataclass
class Session:
    """The session of one browser. Its cookie is only valid for `host`."""

    vault: str
    host: str
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    used: float = field(default_factory=time.monotonic)
    notice: Notice | None = None

    def is_over(self) -> bool:
        """Whether it has expired."""
        return time.monotonic() - self.used > 12 * 3600

    def vouches(self, token: str) -> bool:
        """Whether the token of a form is that of this session."""
        return hmac.compare_digest(token.encode(), self.csrf.encode())


class Sessions:
    """The open sessions, by the hash of their cookie; they end with the process."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}

    def open(self, vault: str, host: str) -> str:
        """Begin a session. Returns its cookie."""
        self._open = {key: session for key, session in self._open.items() if not session.is_over()}
        while len(self._open) >= _MOST:
            self._open.pop(min(self._open, key=lambda key: self._open[key].used))
        cookie = secrets.token_urlsafe(32)
        self._open[_hash(cookie)] = Session(vault, host)
        return cookie

    def of(self, cookie: str, host: str) -> Session | None:
        """The session of a cookie at a host; None without one."""
        session = self._open.get(_hash(cookie))
        if session is None or session.is_over() or session.host != host:
            return None
        session.used = time.monotonic()
        return session

    def close(self, cookie: str) -> None:
        """End a session."""
        self._open.pop(_hash(cookie), None)
