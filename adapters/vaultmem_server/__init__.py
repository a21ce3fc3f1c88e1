"""The HTTP door: assistants and programs on other machines reach a vault's agent through it, each with its own token.

The verb `token` admits them; `door` opens it, `http_app` answers requests, `rest` has the verbs as JSON, `streamable` the
Model Context Protocol.
"""

from __future__ import annotations

from vaultmem.api.memory_verbs import flag
from vaultmem.api.verbs import SET_UP, Param, Verb

VERBS = {
    "token": Verb(
        "add, list or revoke tokens of the HTTP door", SET_UP,
        (
            Param("action", place="1", choices=("add", "list", "revoke"), needed=True),
            Param("name", "its name, such as the machine it is for", place="?", metavar="NAME"),
            Param("scope", "what it may do (default {default})", choices=("read", "write", "admin"), default="write"),
            Param("agent", "the assistant it acts as (default: its name; with --scope admin: you)", metavar="NAME"),
            Param("expires", "how long it is valid, such as 90d", metavar="TIME"),
            Param("vault", "only this vault; may be repeated", kind="repeated", metavar="FOLDER"),
            flag("dry_run", "show what would be done, and do nothing"),
        ),
        command="vaultmem_server.token_command:token",
    ),
}  # fmt: skip
