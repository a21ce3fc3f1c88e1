"""The output of commands: data on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Iterable

from vaultmem import screen
from vaultmem.client import is_terminal, put, show_parts, wants_colour
from vaultmem.text.values import TURNING, TYPE_CHECKING, lazy, value

if TYPE_CHECKING:
    from typing import Protocol

    class Stream(Protocol):
        """The used part of a text stream."""

        @property
        def encoding(self) -> str | None:
            """The encoding of its file, if it has one."""

        def write(self, text: str, /) -> int:
            """Write."""

        def flush(self) -> None:
            """Flush the stream."""


@value
class Streams:
    """The streams of a command that runs for a client, and the properties of the client's stdout."""

    out: Stream
    err: Stream
    terminal: bool
    colour: bool
    columns: int = 0  # of the terminal; 0 for unlimited lines
    links: bool = False  # whether it shows OSC 8 links


class Parts:
    """A stream that collects its texts in a list, shared with another stream to keep their order."""

    encoding = "utf-8"

    def __init__(self, name: str, parts: list[tuple[str, str]]) -> None:
        self._name, self._parts = name, parts

    def write(self, text: str, /) -> int:
        """Add a text."""
        self._parts.append((self._name, text))
        return len(text)

    def flush(self) -> None:
        """Do nothing: the texts are printed at the end."""


JSON_VERSION = 1  # of the output with --json; docs/json.md says when it is raised
_CODES = {
    "bold": "1", "dim": "2", "reverse": "7", "red": "31", "green": "32", "yellow": "33", "cyan": "36",
}  # fmt: skip


class Output:
    """Writes the output of a command in the chosen format, in colour if the terminal supports it."""

    def __init__(self, form: str = "text", streams: Streams | None = None) -> None:
        self._is_own = streams is None
        self._streams = streams or _own_streams()
        self._out, self._err = self._streams.out, self._streams.err
        self.as_json = form == "json"
        self.colour = self._streams.colour and not self.as_json
        self.columns = self._streams.columns
        self._has_links = self.colour and self._streams.links
        self.root = ""  # the folder of the vault, for links to its files
        self.has_progress = False  # whether the command does long work, which it can resume

    @property
    def is_terminal(self) -> bool:
        """Whether stdout is a terminal, where a person reads it."""
        return self._streams.terminal

    def paint(self, text: str, *styles: str) -> str:
        """The text in a style, if colour is used."""
        if not (self.colour and text and styles):
            return text
        codes = ";".join(_CODES[style] for style in styles)
        # _write turns these into escape sequences.
        return f"\x01{_MARK};{codes}\x02{text}\x01{_MARK};0\x02"

    def link(self, text: str, uri: str) -> str:
        """The text as a link, if the terminal supports links."""
        if not (self._has_links and text and _URI.fullmatch(uri)):
            return text
        return f"\x01{_MARK}|{uri}\x02{text}\x01{_MARK}|\x02"

    def place(self, path: str, line: object = "", *, room: int = 0, style: str = "cyan") -> str:
        """A file of the vault with a line number, linked to the file and shortened in the middle to `room` columns."""
        behind = f":{line}" if line else ""
        text = screen.cut_middle(path, max(room - len(behind), 12)) if room else path
        uri = f"file://{_quote(f'{self.root}/{path}')}" if self.root and self._has_links else ""
        return self.link(self.paint(text + behind, style), uri)

    @staticmethod
    def width_of(text: str) -> int:
        """The width in columns of a text from paint(), link() and place()."""
        return screen.columns(_bare(text))

    def room(self, used: int, least: int = 24) -> int:
        """The number of columns left on a line, at least `least`; 0 for unlimited lines."""
        return max(self.columns - used, least) if self.columns else 0

    def line(self, text: str = "") -> None:
        """Print a line of data for a person; line breaks in it, as in file names, are replaced."""
        if self.as_json:
            return
        text = text.replace("\n", "\ufffd")
        if self.columns:
            text = screen.fold(text, self.columns, _bare)
        _write(self._out, text + "\n")

    def text(self, text: str) -> None:
        """Print text of a note for a person."""
        if not self.as_json:
            self.exact(text)

    def exact(self, text: str) -> None:
        """Print text: harmless on a terminal, exact elsewhere."""
        if self._streams.terminal:
            _write(self._out, text)
        else:
            _put(self._out, text)

    def flush(self) -> None:
        """Flush both streams."""
        self._out.flush()

    def prompt(self, text: str) -> None:
        """Print a question at the terminal; the person answers on the same line."""
        _write(self._out, text)
        self._out.flush()

    def data(self, value: object) -> None:
        """Print data for a program: one JSON value, indented on a terminal."""
        _write(self._out, json_text(value, 2 if self._streams.terminal else None) + "\n")

    def answer(self, value: object) -> None:
        """Print a command's answer for a program; for a person, lines and texts are printed instead."""
        if self.as_json:
            self.data(value)

    def result(self, value: object, *lines: str) -> None:
        """Print data for a program, or lines for a person."""
        self.answer(value)
        for line in lines:
            self.line(line)

    def record(self, value: object) -> None:
        """Print one of many JSON values at once, on its own line."""
        _write(self._out, json_text(value) + "\n")
        self._out.flush()

    def remark(self, text: str) -> None:
        """Print a remark on stderr."""
        self.aside(f"vaultmem: {text}")

    def note(self, text: str) -> None:
        """Print a remark for a person; for a program it is in the data."""
        if not self.as_json:
            self.remark(text)

    def aside(self, text: str) -> None:
        """Print a text on stderr."""
        if self.columns:
            text = "\n".join(screen.fold(line, self.columns, _bare) for line in text.split("\n"))
        _write(self._err, f"{text}\n")

    def error(self, text: str) -> None:
        """Print an error on one line; as JSON if the data would have been JSON."""
        flat = " ".join(text.split())
        line = json_text({"error": flat}) if self.as_json else f"vaultmem: {flat}"
        _write(self._err, line + "\n")

    def bar(self) -> Bar:
        """A progress bar for a person at this terminal; a command that runs for a client has none."""
        self.has_progress = True
        return Bar(visible=self._is_own)


class Paged(Output):
    """Collects the output and prints it at the end, in a pager if it is longer than the screen."""

    def __init__(self, form: str) -> None:
        self._parts: list[tuple[str, str]] = []
        streams = _own_streams()
        streams.out, streams.err = Parts("out", self._parts), Parts("err", self._parts)
        super().__init__(form, streams)

    def bar(self) -> Bar:
        """A progress bar, which is not collected."""
        self.has_progress = True
        return Bar()

    def close(self) -> None:
        """Print the collected output."""
        show_parts(self._parts)


class Captured(Output):
    """Keeps the value that a command would print as JSON."""

    def __init__(self) -> None:
        nowhere = io.StringIO()
        super().__init__("json", Streams(nowhere, nowhere, terminal=False, colour=False))
        self.value: object = None

    def data(self, value: object) -> None:
        """The value of the command."""
        self.value = value


def _own_streams() -> Streams:
    is_seen = is_terminal(sys.stdout)
    columns = screen.size(sys.stdout)[0] if is_seen else 0
    colour, links = wants_colour(sys.stdout), screen.has_links()
    return Streams(sys.stdout, sys.stderr, is_seen, colour, columns, links)


def _quote(path: str) -> str:
    from urllib.parse import quote

    return quote(os.fsencode(path))


def _plain(value: object) -> object:
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return getattr(value, "__dict__", None) or str(value)


# The most pairs of words compared for a diff, which takes quadratic time.
PAIRS = 1_000_000

# A note may hold escape sequences that control the terminal, or bidirectional controls that reorder the line.
_CONTROL = dict.fromkeys([0, *range(3, 9), *range(11, 32), *range(127, 160), *TURNING], "\ufffd")
_MARK = os.urandom(4).hex()  # nothing in a note can imitate what paint() writes
_STYLE = lazy(f"\x01{_MARK};([0-9;]{{1,8}})\x02")
_LINK = lazy(f"\x01{_MARK}\\|([!-~]*)\x02")
_URI = lazy(r"[a-z][a-z+.-]*:[!-~]+")
# Valid in JSON, but terminals must not get them and programs must not lose them.
_ESCAPED = {code: f"\\u{code:04x}" for code in (*range(127, 160), *TURNING)}

_TO_ESCAPE = lazy(f"[{''.join(map(chr, _ESCAPED))}]")


def json_text(value: object, indent: int | None = None) -> str:
    """A value as JSON on one line (or indented): every character as it is, except those that control a terminal."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    # From fast to slow: translate() takes long on non-ASCII text, and every answer has a "…".
    if text.isprintable() or not _TO_ESCAPE.search(text):
        return text
    return text.translate(_ESCAPED)


def _bare(text: str) -> str:
    """The text without the marks of paint() and link()."""
    return _LINK.sub("", _STYLE.sub("", text)) if "\x01" in text else text


class OutputError(OSError):
    """A stream cannot be written, as on a full disk."""


def _put(stream: Stream, text: str) -> None:
    """Write text. Raises BrokenPipeError or OutputError, at once where nothing is buffered."""
    try:
        put(stream, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(*error.args) from error


def _write(stream: Stream, text: str) -> None:
    """Write text in any encoding of the stream, with control characters made harmless."""
    safe = text.translate(_CONTROL)
    if "\x01" in safe:
        safe = _STYLE.sub("\033[\\1m", safe)
        safe = _LINK.sub("\033]8;;\\1\033\\\\", safe)
    _put(stream, safe.replace("\x01", "\ufffd").replace("\x02", "\ufffd"))


class Bar:
    """A progress line on stderr that is overwritten; only on a terminal, else false in a condition."""

    _marks = ((0.0, 0), (0.0, 0))  # seconds and items at the last two doublings of the time

    def __init__(self, *, visible: bool = True) -> None:
        self.visible = visible and is_terminal(sys.stderr)
        self._name, self._total, self._done = "", 0, 0
        self._started = self._last = 0.0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __bool__(self) -> bool:
        return self.visible

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        self.close()
        self._name, self._total, self._done = name, total, 0
        self._started = time.monotonic()
        self._last, self._marks = 0.0, Bar._marks

    def advance(self, count: int = 1) -> None:
        """Count items as done."""
        self._done += count
        now = time.monotonic()
        if self.visible and now - self._last > 0.1 and now - self._started > 0.3:
            self._last = now
            self._draw(now - self._started)

    def _draw(self, seconds: float) -> None:
        (since, count), last = self._marks
        rate, lately = self._done / seconds, (self._done - count) / (seconds - since)
        if seconds >= 2 * last[0]:
            self._marks = last, (seconds, self._done)
        # The first items are often slower or faster than the rest: show the remaining time once the rate is
        # steady.
        is_known = count and self._total and 2 / 3 * lately < rate < 3 / 2 * lately
        left = f", {_span((self._total - self._done) / lately)} left" if is_known else ""
        of = f"/{self._total}" if self._total else ""
        sys.stderr.write(f"\r\033[K{self._name} {self._done}{of} ({rate:.0f}/s{left})")
        sys.stderr.flush()

    def close(self) -> None:
        """Clear the line."""
        if self.visible and self._last:
            sys.stderr.write("\r\033[K")
            self._last = 0.0


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows as aligned columns; the last one is as wide as it needs."""
    listed = list(rows)
    columns = range(len(listed[0]) - 1 if listed else 0)
    widths = [max(screen.columns(row[n]) for row in listed) for n in columns]
    padded = ([*map(screen.pad, row, widths), row[-1]] for row in listed)
    return ["  ".join(cells).rstrip() for cells in padded]
