"""Chats at the HTTP door (`vaultmem serve --http ADDRESS --proxy`): below /v1, for clients with a token.

Conversations are prefixed with the name of the token, so that no client can name another's. Only chats, the count of
their tokens and the list of models are passed on: the upstream's key is the person's, and gives access to more.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING

from vaultmem_server import http_app as at_door
from vaultmem_server.http_app import BaseRoute, Request, Response, Route

if TYPE_CHECKING:
    from vaultmem_chat.proxy.proxy import Chatting
    from vaultmem_chat.proxy.proxy_app import Endpoint
    from vaultmem_server.door import Door
    from vaultmem_server.tokens import Caller

PLACE = "/v1"
VAULT = "x-vaultmem-vault"  # the header that selects the vault if a token opens several
SCOPE = "write"  # turns are stored
_OURS = (b"authorization", VAULT.encode())
_FORWARDED = {"/models": "GET", "/messages/count_tokens": "POST"}  # as they are


def mount(door: Door) -> list[BaseRoute]:
    """The routes, if they are enabled. Raises VaultmemError if no model is set."""
    if not door.has_chats:
        return []  # then the proxy, which takes 10 MB, is not imported either
    from vaultmem_chat.proxy.chats import FORMS
    from vaultmem_chat.proxy.proxy import Chatting, Overrides, in_force
    from vaultmem_chat.proxy.proxy_app import MOST_BODY

    # The door decides where it listens.
    local = Overrides(host="127.0.0.1")
    vaults = door.vaults.items()
    served = {name: Chatting(folder, in_force(folder, local)) for name, folder in vaults}
    door.guarded[PLACE] = MOST_BODY
    door.beside.append(lambda: _running(served))
    clients = _Clients(door, served)
    paths = {**{form.path: "POST" for form in FORMS}, **_FORWARDED}
    return [
        Route(f"{PLACE}{path}", clients.endpoint(path), methods=[method])
        for path, method in paths.items()
    ]


@contextlib.asynccontextmanager
async def _running(served: dict[str, Chatting]) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for server in served.values():
            await stack.enter_async_context(server.running())
        yield


class _Clients:
    """The endpoints of each client, created at its first request."""

    def __init__(self, door: Door, served: dict[str, Chatting]) -> None:
        self._door, self._served = door, served
        self._of: dict[tuple[str, str], dict[str, Endpoint]] = {}  # by vault and token

    def endpoint(self, path: str) -> Endpoint:
        """The endpoint of a path: with the rights of the token, which is not sent to the upstream."""
        from vaultmem_chat.proxy.proxy_app import in_form

        async def inner(request: Request) -> Response:
            caller = at_door.current_caller(request)
            at_door.require(caller, SCOPE)
            vault = at_door.vault_for(self._door, caller, request.headers.get(VAULT, ""))
            passed = [pair for pair in request.scope["headers"] if pair[0].lower() not in _OURS]
            forwarded = Request({**request.scope, "headers": passed}, request.receive)
            status = 500
            try:
                response = await in_form(forwarded, self._reached(vault, caller)[path])
                status = response.status_code
            finally:
                if request.method == "POST":
                    self._door.audit.write(caller, vault, "chat", status)
            return response

        return partial(in_form, endpoint=inner)

    def _reached(self, vault: str, caller: Caller) -> dict[str, Endpoint]:
        from vaultmem_chat.proxy.proxy_app import chat_with, forward_to

        key = vault, caller.token.key
        if key not in self._of:
            server = self._served[vault]
            holder = caller.token.name if caller.client else ""
            chats = server.chats(caller.client, holder)
            paths = {chat.form.path: chat_with(chat) for chat in chats}
            self._of[key] = {**paths, **dict.fromkeys(_FORWARDED, forward_to(server.upstream))}
        return self._of[key]
