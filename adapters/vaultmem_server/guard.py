"""Who may use the proxy: programs on this machine, but no web page in its browsers; with proxy.key only clients that
send it.

A page can send requests to 127.0.0.1, also under its own name that resolves to it. It cannot hide that: browsers send
the name (Host) and the page (Origin). Our own page would have the name that it requests; if we listen at all
addresses, other machines may serve pages under any other name or address.
"""

from __future__ import annotations

import contextlib
import socket
from ipaddress import ip_address
from typing import NamedTuple

from vaultmem.credentials import Key

Headers = list[tuple[bytes, bytes]]  # as received, in order
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CONTAINER = "host.docker.internal"  # a container's name for its host machine
OPEN = "/health"  # discloses nothing, and monitoring has no key
KEY_HEADER = b"x-vaultmem-key"  # for clients that send their own key to the upstream
BEARER = "bearer "
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to know them, not to listen there


def header(headers: Headers, name: bytes) -> str:
    """The value of the first header with a name in lower case; "" if there is none."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), "")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a listener at that host."""
    return host in LOOPBACK or (is_address(host) and ip_address(host).is_loopback)


def is_address(host: str) -> bool:
    """Whether it is an IP address and not a name: some names consist of hexadecimal digits."""
    with contextlib.suppress(ValueError):
        return bool(ip_address(host))
    return False


class Refusal(NamedTuple):
    """Why a request is refused."""

    status: int
    message: str
    code: str
    headers: dict[str, str] | None = None


NO_HOST = Refusal(403, "the Host is not one of this server", "host_not_allowed")
NO_PAGE = Refusal(403, "web pages may not use this server", "origin_not_allowed")
NO_KEY = Refusal(
    401,
    "this proxy wants its key: as the api_key of the client, or in X-Vaultmem-Key",
    "invalid_api_key",
)

TWO_LENGTHS = Refusal(400, "the request has two lengths", "two_lengths", {"connection": "close"})


def has_two_lengths(headers: Headers) -> bool:
    """Whether a request states its length in two ways: a server in front may see another end (RFC 9112, 6.3)."""
    return {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in headers}


class Guard:
    """Decides on requests. `port` is where the proxy listens, `key` is required of every client."""

    def __init__(self, host: str, port: int, key: Key | None = None) -> None:
        self._port, self._key = port, key
        self._names = {*LOOPBACK, host.lower()}
        self._any_address = host in WILDCARDS
        if not is_loopback(host):
            self._names |= {CONTAINER, socket.gethostname().lower()}

    def refusal(self, headers: Headers, path: str) -> Refusal | None:
        """Why a request is refused; None if it is allowed."""
        if has_two_lengths(headers):
            return TWO_LENGTHS
        host = header(headers, b"host")
        if not self._is_ours(host):
            return NO_HOST
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if any(origin.lower() != f"http://{host.lower()}" for origin in origins):
            return NO_PAGE
        if header(headers, b"sec-fetch-site") in ("cross-site", "same-site"):
            return NO_PAGE
        is_open = self._key is None or path == OPEN or any(map(self._has_key, headers))
        return None if is_open else NO_KEY

    def _has_key(self, header: tuple[bytes, bytes]) -> bool:
        name, value = header[0].lower(), header[1].decode("latin-1")
        if name == KEY_HEADER:
            return self._is_key(value)
        bare = _bare(value)
        return name == b"authorization" and bare != value and self._is_key(bare)

    def without_key(self, headers: Headers) -> Headers:
        """The headers without our key, which nobody else may see: a client may also send it in a second header, which
        does not count here, and would be passed on as a key of the upstream."""
        return [
            (name, value)
            for name, value in headers
            if name.lower() != KEY_HEADER and not self._is_key(_bare(value.decode("latin-1")))
        ]

    def _is_key(self, value: str) -> bool:
        return self._key is not None and self._key.matches(value)

    def _is_ours(self, raw: str) -> bool:
        """Whether a Host header means us. If we listen at all addresses, every address does, but not every name: a
        page can have a name that resolves to us, but no address other than its own."""
        name, port = split_host(raw.lower())
        if port != str(self._port):
            return False
        return name in self._names or is_loopback(name) or (self._any_address and is_address(name))


def _bare(value: str) -> str:
    """The token of a Bearer value; any other value unchanged."""
    return value[len(BEARER) :] if value[: len(BEARER)].lower() == BEARER else value


def split_host(raw: str) -> tuple[str, str]:
    """The name and port of a Host, without the brackets of an IPv6 address."""
    if raw.startswith("["):
        name, _, rest = raw[1:].partition("]")
        return name, _port(rest)
    name, colon, port = raw.partition(":")
    return name, _port(colon + port)


def _port(rest: str) -> str:
    """The port after a name; "" for anything else."""
    return rest[1:] if rest.startswith(":") else "" if rest else "80"
