"""What a client of the Model Context Protocol may read by address: what waits, and single notes."""

from __future__ import annotations

from urllib.parse import unquote

from vaultmem.errors import NoteNotFoundError
from vaultmem.tools.door import Door

PENDING = "vaultmem://pending"
NOTE = "vaultmem://note/"
LISTED = [
    {
        "uri": PENDING,
        "name": "pending",
        "description": "What waits: due tasks and reminders, and what to review",
        "mimeType": "text/markdown",
    }
]
TEMPLATES = [
    {
        "uriTemplate": f"{NOTE}{{+path}}",
        "name": "note",
        "description": "One note of the vault by its path",
        "mimeType": "text/markdown",
    }
]


def read(door: Door, uri: str, client: str) -> str:
    """The text at an address. Raises VaultmemError where there is none, or none that may be read."""
    if uri == PENDING:
        return door.call("memory_pending", {}, client).text
    if not uri.startswith(NOTE):
        raise NoteNotFoundError(f"no resource is called {uri[:60]!r}")
    path = unquote(uri.removeprefix(NOTE), errors="replace")
    return door.call("memory_read", {"id": path}, client).text
