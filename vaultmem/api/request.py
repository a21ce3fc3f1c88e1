"""A request at any of the doors, and what can be wrong with one: the same codes and words everywhere."""

from __future__ import annotations

from vaultmem.errors import UsageError
from vaultmem.progress import Progress
from vaultmem.text.values import value

# Codes of JSON-RPC 2.0, and from -32000 on our own.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
WRONG_PARAMS = -32602
INTERNAL_ERROR = -32603
FAILED = -32000  # a VaultmemError: its message is for a person
BUSY = -32001
TOOK_TOO_LONG = -32002
NOT_FOUND = -32004  # nothing answers to a name, or several things do


class RequestError(Exception):
    """The answer to a request is an error; the message is one clear line."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def code_of(error: Exception) -> int:
    """The code of an error that a request ends with."""
    if isinstance(error, UsageError):
        return WRONG_PARAMS
    code = getattr(error, "code", FAILED)
    return code if isinstance(code, int) else FAILED


def as_json(error: Exception) -> dict[str, object]:
    """An error as JSON-RPC has it; the message is one line."""
    return {"code": code_of(error), "message": " ".join(str(error).split())}


@value
class Request:
    """What is asked for. `progress` sends lines to the client if it wants them, else it is silent."""

    method: str
    params: dict[str, object]
    progress: Progress
    peer: str = ""  # the process at the other end, where the system tells


@value
class Limits:
    """How much the server takes; seconds, bytes, connections."""

    line_bytes: int = 1_000_000
    connections: int = 110
    half_sent: float = 10.0  # a request that has begun must have come by then
    unread: float = 10.0  # a client that reads nothing for so long is cut off
    answer: float = 30.0  # a request may take so long
    slow_methods: tuple[str, ...] = (
        "sync",
        "jobs.run",
        "memory.job",
    )  # but these may take any time
    progress_gap: float = 0.1
