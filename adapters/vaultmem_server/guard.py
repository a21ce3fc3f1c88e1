"""Who may talk to the proxy: programs of this machine, and no web page that a browser of this machine shows; with
proxy.key only who has it.

A page can send requests to 127.0.0.1, and by a name of its own that leads there. It cannot hide that: a browser says by
which name it came (Host), and from which page (Origin). Our own page would have the name that it asks; another machine
may serve pages by any other name or address, where we listen at all of them.
"""

from __future__ import annotations

import contextlib
import socket
from ipaddress import ip_address
from typing import NamedTuple

from vaultmem.credentials import Key

Headers = list[tuple[bytes, bytes]]  # as they came, in their order
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CONTAINER = "host.docker.internal"  # what a container calls the machine it runs on
OPEN = "/health"  # tells nothing of anybody, and those who watch over services have no key
KEY_HEADER = b"x-vaultmem-key"  # for clients whose own key goes to the upstream
BEARER = "bearer "
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to know them, not to listen there


def header(headers: Headers, name: bytes) -> str:
    """The first header of a name, in lower case; "" if there is none."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), "")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches who listens there."""
    return host in LOOPBACK or (is_address(host) and ip_address(host).is_loopback)


def is_address(host: str) -> bool:
    """Whether it is an address, and no name: some names are made of hexadecimal digits."""
    with contextlib.suppress(ValueError):
        return bool(ip_address(host))
    return False


class Refusal(NamedTuple):
    """Why a request is not passed on."""

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
    """Whether a request names its length in both ways: a server in front may read another end of it (RFC 9112, 6.3)."""
    return {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in headers}


class Guard:
    """Decides about requests. `port` is where the proxy listens, `key` what every client must have."""

    def __init__(self, host: str, port: int, key: Key | None = None) -> None:
        self._port, self._key = port, key
        self._names = {*LOOPBACK, host.lower()}
        self._any_address = host in WILDCARDS
        if not is_loopback(host):
            self._names |= {CONTAINER, socket.gethostname().lower()}

    def refusal(self, headers: Headers, path: str) -> Refusal | None:
        """Why a request is refused; None where it is not."""
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
        """Whether a header lets in."""
        name, value = header[0].lower(), header[1].decode("latin-1")
        if name == KEY_HEADER:
            return self._is_key(value)
        bare = _bare(value)
        return name == b"authorization" and bare != value and self._is_key(bare)

    def without_key(self, headers: Headers) -> Headers:
        """The headers without our key. It opens nothing anywhere else, and nobody else is to see it: a client may send
        it in a second header too, which does not let in here, and would be taken for a key of the upstream."""
        return [
            (name, value)
            for name, value in headers
            if name.lower() != KEY_HEADER and not self._is_key(_bare(value.decode("latin-1")))
        ]

    def _is_key(self, value: str) -> bool:
        return self._key is not None and self._key.matches(value)

    def _is_ours(self, raw: str) -> bool:
        """Whether a Host means us. Where we listen at all addresses every address does, but not every name: a page
        can have a name that leads here, and no address that is not its own."""
        name, port = split_host(raw.lower())
        if port != str(self._port):
            return False
        return name in self._names or is_loopback(name) or (self._any_address and is_address(name))


def _bare(value: str) -> str:
    """The token of a bearer; any other value as it is."""
    return value[len(BEARER) :] if value[: len(BEARER)].lower() == BEARER else value


def split_host(raw: str) -> tuple[str, str]:
    """Name and port; the brackets of an IPv6 address are not part of its name."""
    if raw.startswith("["):
        name, _, rest = raw[1:].partition("]")
        return name, _port(rest)
    name, colon, port = raw.partition(":")
    return name, _port(colon + port)


def _port(rest: str) -> str:
    """The port of what stands behind a name; "" for what is none."""
    return rest[1:] if rest.startswith(":") else "" if rest else "80"
