"""Tokens of the HTTP door: the identity, scope, vaults and lifetime of each client.

A token is printed once, when it is created; the file has only its SHA-256. 32 random bytes cannot be guessed, so a
slow hash would not help. The file is readable by the user only (0600) and replaced atomically.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple

from vaultmem import paths
from vaultmem.api.tool import client_name
from vaultmem.errors import StateError, UsageError

READ, WRITE, ADMIN = SCOPES = ("read", "write", "admin")
PREFIX = "vmt"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_SECRET_BYTES = 32
_FIELDS = ("name", "key", "digest", "scope", "agent", "vaults", "created", "expires")


class Token(NamedTuple):
    """One token in the file. `key` is its public part; times are in seconds since the epoch."""

    name: str
    key: str
    digest: str
    scope: str
    agent: str  # the assistant it acts as; "" for its own name, or for the person with the scope `admin`
    vaults: tuple[str, ...]  # their ids; none: all vaults of the door
    created: float
    expires: float | None

    def is_expired(self) -> bool:
        """Whether it has expired."""
        return self.expires is not None and time.time() >= self.expires

    @property
    def client(self) -> str:
        """The assistant that its requests act as; "" for the person."""
        return self.agent or ("" if self.scope == ADMIN else self.name)

    def opens(self, vault: str) -> bool:
        """Whether it gives access to the vault with this id."""
        return not self.vaults or vault in self.vaults

    def to_json(self) -> dict[str, object]:
        """Its public fields as JSON."""
        fields = self._asdict()
        del fields["digest"]
        return fields


class Caller(NamedTuple):
    """The client of a request: the holder of a token, at an address."""

    token: Token
    address: str

    @property
    def client(self) -> str:
        """The assistant that it acts as; "" for the person."""
        return self.token.client

    def may(self, scope: str) -> bool:
        """Whether the token has the scope or a wider one."""
        return SCOPES.index(self.token.scope) >= SCOPES.index(scope)


class TokenStore:
    """The tokens in a file. Changes by other processes take effect at once. Thread-safe."""

    def __init__(self, path: str = "") -> None:
        self.path = path or os.path.join(paths.state_root(), "tokens.json")
        self._version: tuple[int, int, int] | None = None
        self._tokens: dict[str, Token] = {}  # by key

    def all(self) -> list[Token]:
        """All tokens, sorted by name. Raises StateError if the file cannot be read."""
        self._refresh()
        return sorted(self._tokens.values(), key=lambda token: token.name)

    def named(self, name: str) -> Token:
        """The token with a name. Raises UsageError if there is none."""
        tokens = self.all()
        for token in tokens:
            if token.name == name:
                return token
        names = ", ".join(token.name for token in tokens) or "none"
        raise UsageError(f"there is no token {name!r}; known: {names}")

    def check(self, name: str, scope: str, agent: str = "") -> None:
        """Raise UsageError if such a token cannot be created."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                "the name of a token has up to 40 letters, digits, dots, dashes and underscores"
            )
        if scope not in SCOPES:
            raise UsageError(f"the scope of a token is one of {', '.join(SCOPES)}")
        if client_name(agent or name) != (agent or name):  # "you", "conversation:…"
            raise UsageError(
                f"{agent or name!r} cannot be the name of an assistant; choose another"
            )
        if any(token.name == name for token in self.all()):
            raise UsageError(
                f"there is a token {name!r} already; use another name, or vaultmem token revoke {name}"
            )

    def add(
        self, name: str, scope: str, agent: str = "", vaults: Sequence[str] = (), lifetime: float | None = None
    ) -> str:  # fmt: skip
        """Create a token. Returns its text, which is not stored. `lifetime` is in seconds. Raises UsageError."""
        key, secret = secrets.token_hex(6), secrets.token_urlsafe(_SECRET_BYTES)
        now = time.time()
        ends = None if lifetime is None else now + lifetime
        with self._locked():
            self.check(name, scope, agent)
            new = Token(name, key, _digest(secret), scope, agent, tuple(vaults), now, ends)
            self._write([*self._tokens.values(), new])
        return f"{PREFIX}_{key}_{secret}"

    def revoke(self, name: str) -> Token:
        """Remove a token and return it. Raises UsageError if there is none of that name."""
        with self._locked():
            gone = self.named(name)
            self._write([token for token in self.all() if token.name != name])
        return gone

    def holder(self, text: str) -> Token | None:
        """The token of a request; None if it is unknown or expired. Takes the same time for every wrong secret."""
        self._refresh()
        prefix, _, rest = text.partition("_")
        key, _, secret = rest.partition("_")
        token = self._tokens.get(key) if prefix == PREFIX else None
        expected = token.digest if token else _digest("")
        is_right = hmac.compare_digest(expected, _digest(secret))
        return token if token and is_right and not token.is_expired() else None

    def _refresh(self) -> None:
        try:
            version = paths.stamp(self.path)
        except FileNotFoundError:
            self._version, self._tokens = None, {}
            return
        if version != self._version:
            self._tokens = {token.key: token for token in self._read()}
            self._version = version

    def _read(self) -> list[Token]:
        try:
            with open(self.path, encoding="utf-8") as file:
                listed = json.load(file)["tokens"]
            return [
                Token(
                    **{**{name: token[name] for name in _FIELDS}, "vaults": tuple(token["vaults"])}
                )
                for token in listed
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(
                f"{self.path} cannot be read, so no token is valid; remove it and create new tokens"
            ) from error

    def _write(self, tokens: Sequence[Token]) -> None:
        text = json.dumps({"tokens": [token._asdict() for token in tokens]}, indent=1)
        try:
            paths.replace_private(self.path, text, sync=True)
        except OSError as error:
            raise StateError(f"{self.path} cannot be written: {error.strerror}") from error

    def _locked(self) -> paths.FolderLock:
        return paths.FolderLock(paths.make_private(os.path.dirname(self.path)))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
