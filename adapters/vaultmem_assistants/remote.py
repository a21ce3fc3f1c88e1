"""A memory on another machine: the address and the token of its HTTP door, for the settings of a harness.

A token opens the memory to anybody. So it goes into files only that their owner alone can read and that no Git
repository takes up, is never printed, and is sent nowhere but to its door.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from typing import NamedTuple
from urllib.parse import urlsplit

from vaultmem.client import is_terminal
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.text import urls

PATIENCE = 5.0  # seconds for the door's answer
_MCP = re.compile(r"(/mcp)(?:/([^/]+))?\Z")
_VARIABLE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*\Z")


class Door(NamedTuple):
    """Where the server answers, and its token or the variable that holds it: env:NAME."""

    url: str
    token: str

    def has_secret(self) -> bool:
        """Whether the token itself is here, and no variable's name."""
        return not _VARIABLE.match(self.token)

    def problem(self) -> str:
        """Why it may not work, where that is not sure; "" when the door answers. Raises VaultmemError where it never
        will: the token is not valid, or leaves open which vault."""
        token = self.token
        if not self.has_secret():
            name = token.removeprefix("env:")
            token = os.environ.get(name, "")
            if not token:
                return f"{name} is not set here; it must be where the assistant is started"
        try:
            status, body = _answer_of(self.url, token)
        except (OSError, http.client.HTTPException) as error:
            why = " ".join(str(error).split())[:120] or type(error).__name__
            return f"{self.url} cannot be reached from here ({why})"
        if status == 401:
            raise VaultmemError(
                f"{self.url} does not know this token; vaultmem token list, there, shows all"
            )
        try:
            vaults = [str(one) for one in json.loads(body)["vaults"]]
        except (ValueError, TypeError, KeyError):
            return f"{self.url} answers, and not as the door of vaultmem does (status {status})"
        self._check_vault(vaults)
        return ""

    def _check_vault(self, vaults: list[str]) -> None:
        match = _MCP.search(self.url)
        named = match[2] if match else None
        if named is None and len(vaults) == 1:
            return
        if named not in vaults:
            known = ", ".join(vaults) or "none"
            raise VaultmemError(f"name a vault behind /mcp/ in --remote; this token opens: {known}")


def door(address: str, token: str | None) -> Door:
    """The door that the command line names; a token that it does not name is read from stdin. Raises UsageError."""
    try:
        url = urls.check_url(address).rstrip("/")
    except ValueError:
        url = ""
    if not url:
        raise UsageError(
            "--remote takes the address of a door, such as https://notes.example.org/mcp"
        )
    if urls.is_plaintext(url):
        raise UsageError(f"{url}: the token could be read on its way; use https")
    text = (_read() if token in (None, "-") else token or "").strip()
    if not text.isascii() or not text.isprintable() or not text or set(text) & set(' "\\'):
        raise UsageError(
            "--token takes a token of that door (vaultmem token add, there), or env:NAME"
        )
    return Door(url if _MCP.search(urlsplit(url).path) else f"{url}/mcp", text)


def _read() -> str:
    """The token from stdin: words of a command line are seen by other programs, and stored by shells."""
    if is_terminal(sys.stdin):
        from getpass import getpass

        return getpass("Token: ")
    return sys.stdin.readline()


def _answer_of(url: str, token: str) -> tuple[int, bytes]:
    """Which vaults the token opens. No redirect is followed, and no proxy used: both would see the token."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        place = f"{_MCP.sub('', parts.path)}/api/v1/vaults"
        connection.request("GET", place, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read(1_000_000)
    finally:
        connection.close()


def make_private(path: str) -> None:
    """See to it that only its owner reads the file that is to hold a token. Raises VaultmemError where the file belongs
    to a Git repository."""
    real = os.path.realpath(path)
    if _is_in_git(real):
        raise VaultmemError(
            f"{real} lies in a Git repository, where the token would be committed: name a variable that holds it, "
            "--token env:NAME, or let .gitignore name the file"
        )
    try:
        if os.path.exists(real):
            os.chmod(real, os.stat(real).st_mode & 0o700)
        else:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            os.close(os.open(real, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise VaultmemError(f"{real} cannot be written: {error.strerror}") from error


def _is_in_git(real: str) -> bool:
    """Whether a repository that is around the file would take it up."""
    folder = os.path.dirname(real)
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    try:
        command = ["git", "-C", folder, "check-ignore", "-q", real]
        return subprocess.run(command, capture_output=True, check=False).returncode != 0
    except OSError:
        return True
