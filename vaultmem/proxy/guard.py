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

from vaultmem.proxy.asgi import (
    App,
    Fault,
    Headers,
    Receive,
    Scope,
    Send,
    header,
    headers_of,
    send_fault,
)
from vaultmem.store.keys import Key

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CONTAINER = "host.docker.internal"  # what a container calls the machine it runs on
OPEN = "/health"  # tells nothing of anybody, and those who watch over services have no key
KEY_HEADER = b"x-vaultmem-key"  # for clients whose own key goes to the upstream
BEARER = "bearer "
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to know them, not to listen there


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches who listens there."""
    if host in LOOPBACK:
        return True
    with contextlib.suppress(ValueError):
        return ip_address(host).is_loopback
    return False


class Guard:
    """Stands before the whole application. `port` is where it listens, `key` what every client must have."""

    def __init__(self, app: App, host: str, port: int, key: Key | None = None) -> None:
        self._app, self._port, self._key = app, port, key
        self._names = {*LOOPBACK, host.lower()}
        self._any_address = host in WILDCARDS
        if not is_loopback(host):
            self._names |= {CONTAINER, socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        if scope["type"] == "http":
            refused = self.refused(scope)
            if refused:
                await send_fault(send, refused)
                return
            scope = {**scope, "headers": self._without_key(headers_of(scope))}
        await self._app(scope, receive, send)

    def refused(self, scope: Scope) -> Fault | None:
        """Why a request is not passed on."""
        headers = headers_of(scope)
        host = header(headers, b"host")
        if not self._is_ours(host):
            return Fault(403, "the Host is not one of this server", code="host_not_allowed")
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if any(origin.lower() != f"http://{host.lower()}" for origin in origins):
            return Fault(403, "web pages may not use this server", code="origin_not_allowed")
        if header(headers, b"sec-fetch-site") in ("cross-site", "same-site"):
            return Fault(403, "web pages may not use this server", code="origin_not_allowed")
        if (
            self._key is not None
            and scope["path"] != OPEN
            and not any(map(self._says_key, headers))
        ):
            said = "this proxy wants its key: as the api_key of the client, or in X-Vaultmem-Key"
            return Fault(401, said, code="invalid_api_key")
        return None

    def _says_key(self, header: tuple[bytes, bytes]) -> bool:
        """Whether a header lets in."""
        name, value = header[0].lower(), header[1].decode("latin-1")
        if name == KEY_HEADER:
            return self._is_key(value)
        bare = _bare(value)
        return name == b"authorization" and bare != value and self._is_key(bare)

    def _without_key(self, headers: Headers) -> Headers:
        """Our key opens nothing anywhere else, and nobody else is to see it: a client may say it in a second header
        too, which does not let in here, and would be taken for a key of the upstream."""
        return [
            (name, value)
            for name, value in headers
            if name.lower() != KEY_HEADER and not self._is_key(_bare(value.decode("latin-1")))
        ]

    def _is_key(self, said: str) -> bool:
        return self._key is not None and self._key.is_said(said)

    def _is_ours(self, given: str) -> bool:
        """Whether a Host means us. Where we listen at all addresses every address does, but not every name: a page
        can have a name that leads here, and no address that is not its own."""
        name, port = _parted(given.lower())
        if port != str(self._port):
            return False
        if name in self._names:
            return True
        with contextlib.suppress(ValueError):
            address = ip_address(name)
            return self._any_address or address.is_loopback
        return False


def _bare(value: str) -> str:
    """What a bearer bears; any other value as it is."""
    return value[len(BEARER) :] if value[: len(BEARER)].lower() == BEARER else value


def _parted(given: str) -> tuple[str, str]:
    """Name and port; the brackets of an IPv6 address are not part of its name."""
    if given.startswith("["):
        name, _, rest = given[1:].partition("]")
        return name, _port(rest)
    name, colon, port = given.partition(":")
    return name, _port(colon + port)


def _port(rest: str) -> str:
    """The port of what stands behind a name; "" for what is none."""
    return rest[1:] if rest.startswith(":") else "" if rest else "80"
