"""The agent's log: a size-limited file in the state, stderr in the foreground, the last trouble.

<state>/log/agent.log      1 MB, two older ones beside it; no line holds the text of a note
<state>/log/agent.out      what a process in the background says before its log is open, or as it dies
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import logging.handlers
import os
import sys
import time
import traceback
from typing import TextIO

from vaultmem.errors import VaultmemError
from vaultmem.light import TypedDict
from vaultmem.paths import make_private
from vaultmem.text.values import TURNING

FORMS = ("text", "json")
MAX_BYTES = 1_000_000
FILES = 3
LONGEST = 2_000  # characters of a message
_TAIL = 65_536  # bytes
_LEVELS = {"WARNING": "warn", "CRITICAL": "error"}
# A file name may contain anything: line breaks, escape sequences, bidirectional controls.
_TURNING = (0x200E, 0x200F, 0x2028, 0x2029, *TURNING)
_HARMLESS = {
    **dict.fromkeys([*range(32), *range(127, 160), *_TURNING], "\ufffd"),
    9: " ", 10: " ", 13: " ",
}  # fmt: skip


def log_file(state: str) -> str:
    """The log file of an agent with this state folder."""
    return os.path.join(state, "log", "agent.log")


def out_file(state: str) -> str:
    """The file for a background agent's stdout and stderr."""
    return os.path.join(state, "log", "agent.out")


def open_out(state: str) -> int:
    """The file for a background agent's stdout and stderr, emptied. Only its owner may read it."""
    make_private(os.path.join(state, "log"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW
    return os.open(out_file(state), flags, 0o600)


def message_of(record: logging.LogRecord) -> str:
    """One harmless line. For a foreign exception only its type and location: its text may quote a note."""
    text = record.getMessage()
    if record.exc_info and record.exc_info[1]:
        text = f"{text}: {_spoken(record.exc_info[1])}"
    if len(text) > LONGEST:
        text = text[:LONGEST] + "…"
    return text.translate(_HARMLESS).encode("utf-8", "backslashreplace").decode()


def _spoken(error: BaseException) -> str:
    if isinstance(error, VaultmemError):
        return str(error)
    kind = f"{type(error).__name__} {error}" if isinstance(error, OSError) else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    where = " > ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames)
    return f"{kind} ({where})" if where else kind


def _level(record: logging.LogRecord) -> str:
    return _LEVELS.get(record.levelname, record.levelname.lower())


class Lines(logging.Formatter):
    """`12:03:41 info watching 10,000 folders`; with `day`, preceded by the date; as JSON one object per line: time
    (seconds since 1970), level, logger, message."""

    def __init__(self, form: str = "text", *, day: bool = False) -> None:
        super().__init__()
        self._is_json = form == "json"
        self._clock = "%Y-%m-%d %H:%M:%S" if day else "%H:%M:%S"

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        level, message = _level(record), message_of(record)
        if self._is_json:
            line = {"time": round(record.created, 3), "level": level, "logger": record.name}
            return json.dumps({**line, "message": message}, ensure_ascii=False)
        clock = time.strftime(self._clock, time.localtime(record.created))
        return f"{clock} {level:<5} {message}"


class LogFile(logging.handlers.RotatingFileHandler):
    """A file that rotates when full. It may fail (a full disk), but the agent must not."""

    def __init__(self, path: str) -> None:
        super().__init__(path, maxBytes=MAX_BYTES, backupCount=FILES - 1, delay=True)

    def _open(self) -> io.TextIOWrapper:
        make_private(os.path.dirname(self.baseFilename))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        handle = os.open(self.baseFilename, flags, 0o600)
        return open(handle, "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002 - the name and shape that logging calls
        """Drop the stream and what it could not write; the next record reopens it."""
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()


class Stderr(logging.StreamHandler[TextIO]):
    """The stderr of this process, as lines. If nobody reads it, nothing stops."""

    def __init__(self, form: str = "text") -> None:
        super().__init__(sys.stderr)
        self.setFormatter(Lines(form))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - as logging calls it
        """Ignore a closed stream, or a pipe without a reader."""


LastError = TypedDict("LastError", {
    "time": float,  # seconds since 1970
    "level": str, "message": str,
})  # fmt: skip
"""A warning or an error."""


class LastTrouble(logging.Handler):
    """Keeps the last warning or error, for `vaultmem status`."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last: LastError | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Store it."""
        self.last = {"time": record.created, "level": _level(record), "message": message_of(record)}


class Log:
    """The log of this process while it is open. `last_error` is the last warning or error."""

    def __init__(self, state: str, form: str = "text") -> None:
        self._trouble = LastTrouble()
        file = LogFile(log_file(state))
        file.setFormatter(Lines(form, day=True))
        self._handlers: list[logging.Handler] = [self._trouble, file]
        if not _is_out_file(state):
            self._handlers.append(Stderr(form))

    @property
    def last_error(self) -> LastError | None:
        """The last warning or error, if any."""
        return self._trouble.last

    def __enter__(self) -> Log:
        root = logging.getLogger()
        for handler in self._handlers:
            root.addHandler(handler)
        root.setLevel(logging.WARNING)  # nobody needs what libraries log below that level
        debug = bool(os.environ.get("VAULTMEM_DEBUG"))
        logging.getLogger("vaultmem").setLevel(logging.DEBUG if debug else logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        for handler in self._handlers:
            logging.getLogger().removeHandler(handler)
            with contextlib.suppress(OSError):
                handler.close()


def _is_out_file(state: str) -> bool:
    """Whether stderr is agent.out: that file is never rotated, so the log must not be duplicated there."""
    try:
        return os.path.samestat(os.fstat(sys.stderr.fileno()), os.stat(out_file(state)))
    except (OSError, ValueError, AttributeError):  # stderr is not a file
        return False


def last_line(path: str) -> str:
    """The last non-empty line of a file, if any."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read(_TAIL).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line.strip()), "").strip()
