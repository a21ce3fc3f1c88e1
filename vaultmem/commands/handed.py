"""vaultmem agent, the short way: where the sync agent runs, the words and what stdin says are handed to it.

Light: it loads nothing but a client of the socket. What the sync agent does not do as the command itself would, it
hands back, before any tool is called; then the command finds what was read from stdin here.
"""

from __future__ import annotations

import os
import sys

from vaultmem import client

MOST = 1_000_000  # bytes of stdin
HANDED = 250_000  # bytes; what is longer might be too long for the socket once it is quoted
MOST_CALLS = 8  # that are carried out as one request of the socket, which has to end in 30 s
_OWN_PROCESS = ("--help", "-h")
# Nothing was done yet: the command asks for itself, call by call.
_NOT_DONE = (client.NO_ANSWER, client.UNKNOWN_METHOD, -32001)

_read: list[bytes] = []


def hand_on(words: list[str]) -> int | None:
    """The exit code of the command, carried out by the sync agent. None where none runs, or it hands it back.
    Raises AgentError for what may have been done in part."""
    _read.clear()
    if os.environ.get("VAULTMEM_DEBUG") or not {*_OWN_PROCESS}.isdisjoint(words):
        return None
    given = None
    if reads_stdin(words):
        if client.is_terminal(sys.stdin):
            return None
        _read[:] = [_all_of_stdin()]
        given = _as_text(_read[0])
        if given is None:
            return None
    try:
        reply = client.run_there("agent", words, timeout=client.BY_MEANING, given=given)
    except client.AgentError as error:
        if error.code not in _NOT_DONE:
            raise
        return None
    except (OSError, ValueError):  # something is odd about where we are
        return None
    code = client.shown(reply)
    if code is not None:
        _read.clear()
    return code


def reads_stdin(words: list[str]) -> bool:
    """Whether the calls stand there. In doubt they do not: the command itself looks closer."""
    if "--list-tools" in words:
        return False
    reads = True
    for word, following in zip(words, [*words, "-"][1:], strict=True):
        if word == "--prompt":
            reads = following == "-" or (following.startswith("--") and " " not in following)
        elif word.startswith("--prompt="):
            reads = word == "--prompt=-"
    return reads


def stdin_bytes() -> bytes:
    """What stdin says, at most one byte more than may be; also when it was read before."""
    return _read.pop() if _read else _all_of_stdin()


def _all_of_stdin() -> bytes:
    buffer = getattr(sys.stdin, "buffer", None)
    return bytes(buffer.read(MOST + 1)) if buffer else sys.stdin.read(MOST + 1).encode()


def _as_text(data: bytes) -> str | None:
    """None where the command has to say what is wrong with it."""
    try:
        return data.decode() if len(data) <= HANDED and data.strip() else None
    except UnicodeDecodeError:
        return None
