"""One client of the socket: reads and answers its lines in order, in one thread."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

from vaultmem import machine
from vaultmem.agent.events import StageProgress
from vaultmem.api import rpc as codes
from vaultmem.api.rpc import Request, RequestError, parse
from vaultmem.errors import VaultmemError
from vaultmem.light import TYPE_CHECKING
from vaultmem.output import json_text
from vaultmem.progress import Progress, Silent
from vaultmem.text.values import value

if TYPE_CHECKING:
    from vaultmem.adapter import JsonObject
    from vaultmem.agent.events import Stage
    from vaultmem.agent.server import Server

log = logging.getLogger("vaultmem.server")

_PART = 65_536
_LARGE = 1_000_000  # characters of a reply; what it was made of is many times as large
# Seconds after which a client counts as idle: before, its next request may be on its way.
SILENT = 1.0
_LEAVE = 1.0  # seconds for a rejected client to read the reason


@value
class Limits:
    """How much the server accepts; seconds, bytes, connections."""

    line_bytes: int = 1_000_000
    connections: int = 110
    unread: float = 10.0  # a client that does not read for this long is disconnected
    answer: float = 30.0  # limit for answering a request
    # Methods without that limit.
    slow_methods: tuple[str, ...] = ("sync", "jobs.run", "memory.job", "changes")
    progress_gap: float = 0.1


class Connection:
    """`idle_since` is None while a request runs; `began` is set while a request with a time limit runs."""

    def __init__(self, link: socket.socket, server: Server) -> None:
        self.idle_since: float | None = time.monotonic()
        self.began: float | None = None
        self._link, self._server, self._limits = link, server, server.limits
        self._id: object = None  # of the request
        self._marks: JsonObject = {}  # of JSON-RPC, where the request has them
        self._wants_reply = True
        self._peer = _process_of(link)
        self._sending = threading.Lock()
        self._over = False
        _set_timeout(link, socket.SO_SNDTIMEO, server.limits.unread)

    def run(self) -> None:
        """Serve until the client disconnects or is disconnected."""
        try:
            for line in self._lines():
                if line.strip():
                    self._serve(line)
        except RequestError as error:
            self._dismiss(error)
        except OSError:
            pass  # the client is gone
        finally:
            with self._sending:
                self._over = True
            self._link.close()

    def _lines(self) -> Iterator[bytes]:
        held, seen = bytearray(), 0
        most = self._limits.line_bytes
        while part := self._link.recv(_PART):
            held += part
            while (end := held.find(b"\n", seen)) >= 0 and end <= most:
                line = bytes(held[:end])
                del held[: end + 1]
                seen = 0
                yield line
            if len(held) > most:
                raise RequestError(codes.INVALID_REQUEST, f"a request may have {most:,} bytes")
            seen = len(held)

    def _serve(self, line: bytes) -> None:
        self._id, self._marks, self._wants_reply, self.idle_since = None, {}, True, None
        try:
            reply = self._reply(line)
        finally:
            self.began = None
            self._server.served += 1
        is_large = len(reply) > _LARGE
        try:
            if self._wants_reply:
                self._send(reply)
        finally:
            if is_large:
                del reply
                machine.release_memory()
        self.idle_since = time.monotonic()  # only now: idle connections may be closed

    def _reply(self, line: bytes) -> str:
        """The reply as a line; an error in one request is reported in its reply and affects no other."""
        try:
            request = self._request(line)
            if request.method not in self._limits.slow_methods:
                self.began = time.monotonic()
            return json_text({**self._head(), "result": self._server.answer(request)})
        except (RequestError, VaultmemError) as error:
            return self._error(codes.code_of(error), str(error))
        except Exception as error:
            log.exception("a request failed")
            message = f"{type(error).__name__}; the log of the agent tells more"
            return self._error(codes.INTERNAL_ERROR, message)

    def _request(self, line: bytes) -> Request:
        message = _parse(line)
        self._id = message.get("id")
        if message.get("jsonrpc") == "2.0":
            self._marks, self._wants_reply = {"jsonrpc": "2.0"}, "id" in message
        method, params = message.get("method"), message.get("params", {})
        if not isinstance(method, str):
            raise RequestError(codes.INVALID_REQUEST, 'a request needs a "method", a text')
        if not isinstance(params, dict):
            raise RequestError(codes.WRONG_PARAMS, '"params" must be an object')
        has_progress = message.get("progress") is True
        return Request(method, params, self._progress() if has_progress else Silent(), self._peer)

    def _head(self) -> JsonObject:
        """The fields that every reply begins with."""
        return {**self._marks, "id": self._id}

    def _progress(self) -> Progress:
        id_ = self._id

        def tell(state: Stage) -> None:
            with contextlib.suppress(OSError):  # a long job continues without its client
                self._send(json_text({"id": id_, "progress": state}))

        return LineProgress(tell, self._limits.progress_gap)

    def _error(self, code: int, message: str) -> str:
        error = {"code": code, "message": codes.one_line(message)}
        return json_text({**self._head(), "error": error})

    def _send(self, line: str) -> None:
        with self._sending:
            if self._over:
                raise ConnectionAbortedError
            try:
                self._link.sendall(_encode(line))
            except OSError:
                # Unread for too long, or gone: half a line may be out, so no other may follow.
                self._over = True
                self.hang_up()
                raise

    def cut(self) -> None:
        """End a request that takes too long; called from another thread, and never waits."""
        if not self._sending.acquire(blocking=False):
            return  # the answer is on its way
        try:
            if self.began is None or self._over:
                return
            self._over, self.began = True, None
            message = f"the request took longer than {self._limits.answer:g} s"
            with contextlib.suppress(OSError):
                line = self._error(codes.TOOK_TOO_LONG, message)
                self._link.send(_encode(line), socket.MSG_DONTWAIT)
            self.hang_up()
        finally:
            self._sending.release()

    def _dismiss(self, error: RequestError) -> None:
        """Send the reason, and give the client time to read it before the connection is closed."""
        self._id, self._marks = None, {}
        with contextlib.suppress(OSError):
            self._send(self._error(error.code, str(error)))
            self._link.shutdown(socket.SHUT_WR)
            _set_timeout(self._link, socket.SO_RCVTIMEO, _LEAVE)
            until = time.monotonic() + _LEAVE
            while self._link.recv(_PART) and time.monotonic() < until:
                pass

    def hang_up(self, how: int = socket.SHUT_RDWR) -> None:
        """End the connection, from any thread; its own thread then closes it."""
        with contextlib.suppress(OSError):
            self._link.shutdown(how)


class LineProgress(StageProgress):
    """Sends progress as lines, at most one every `progress_gap` seconds."""

    def __init__(self, tell: Callable[[Stage], None], gap: float) -> None:
        super().__init__()
        self._tell, self._gap = tell, gap
        self._last = -math.inf

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        super().stage(name, total)
        self.advance(0)

    def advance(self, count: int = 1) -> None:
        """Count this many more."""
        super().advance(count)
        now = time.monotonic()
        if now - self._last >= self._gap:
            self._last = now
            self._tell({"stage": self.name, "done": self.done, "total": self.total})


def refuse(link: socket.socket, code: int, message: str) -> None:
    """Reject a connection with one line, without waiting, and close it."""
    line = json_text({"id": None, "error": {"code": code, "message": message}})
    with contextlib.suppress(OSError):
        link.send(_encode(line), socket.MSG_DONTWAIT)
    link.close()


def _encode(line: str) -> bytes:
    try:
        return line.encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # half a character, as file names of other systems may have
        return json.dumps(json.loads(line)).encode("ascii") + b"\n"


def _parse(line: bytes) -> JsonObject:
    try:
        message = parse(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise RequestError(codes.PARSE_ERROR, "the request is not UTF-8") from None
    except ValueError as error:
        raise RequestError(codes.PARSE_ERROR, f"the request is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise RequestError(codes.INVALID_REQUEST, "a request is an object on one line")
    return message


def _set_timeout(link: socket.socket, option: int, seconds: float) -> None:
    """Set it for one direction only; socket.settimeout would also affect the other direction and other threads."""
    micros = max(int(seconds * 1e6), 1 if seconds else 0)  # 0 means no limit
    span = struct.pack("ll", *divmod(micros, 1_000_000))
    link.setsockopt(socket.SOL_SOCKET, option, span)


_PID_OF_MACOS = (0, 2)  # SOL_LOCAL and LOCAL_PEERPID


def _process_of(connection: socket.socket) -> str:
    """The process at the other end if the system reports it, else one name for all."""
    try:
        has_one = hasattr(socket, "SO_PEERCRED")
        level, option = (socket.SOL_SOCKET, socket.SO_PEERCRED) if has_one else _PID_OF_MACOS
        credentials = connection.getsockopt(level, option, struct.calcsize("3i"))
        return str(struct.unpack_from("i", credentials)[0])
    except (OSError, struct.error):
        return ""
