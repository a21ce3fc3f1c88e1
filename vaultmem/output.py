"""What a person or a program gets to see: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterable

from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Output:
    """Knows the format, and whether there is a terminal that wants colour."""

    def __init__(self, wanted: str = "auto") -> None:
        self.as_json = wanted == "json" or (wanted == "auto" and not _is_terminal(sys.stdout))
        self.colour = not self.as_json and _wants_colour(sys.stdout)

    def paint(self, text: str, *styles: str) -> str:
        """The text in colours, where colours are wanted."""
        if not self.colour or not text:
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return (
            f"\x01{_MARK};{codes}\x02{text}\x01{_MARK};0\x02"  # _write makes these escape sequences
        )

    def line(self, text: str = "") -> None:
        """A line of data for a person; a file name may hold line breaks, which make no new line."""
        _write(sys.stdout, text.replace("\n", "\ufffd") + "\n")

    def script(self, text: str) -> None:
        """A text of many lines, of our own making."""
        _write(sys.stdout, text)

    def data(self, value: object) -> None:
        """Data for a program: one JSON value, indented on a terminal."""
        _write(sys.stdout, _json(value, 2 if _is_terminal(sys.stdout) else None) + "\n")

    def record(self, value: object) -> None:
        """One of many JSON values: on a line of its own, and at once."""
        _write(sys.stdout, _json(value) + "\n")
        sys.stdout.flush()

    def remark(self, text: str) -> None:
        """Something to know that is not data."""
        _write(sys.stderr, f"{text}\n")

    def error(self, text: str) -> None:
        """What went wrong, in one line; JSON when the data would have been JSON."""
        flat = " ".join(text.split())
        _write(sys.stderr, (_json({"error": flat}) if self.as_json else f"vaultmem: {flat}") + "\n")


def _plain(value: object) -> object:
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, tuple):
        return list(value)
    return getattr(value, "__dict__", None) or str(value)


# A note may hold escape sequences that would steer the terminal of whoever prints it.
# Nor may it turn the line around (bidirectional controls).
_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROL = dict.fromkeys([0, *range(3, 9), *range(11, 32), *range(127, 160), *_TURNING], "\ufffd")
_MARK = os.urandom(4).hex()  # no note can hold what paint() writes
_STYLE = re.compile(f"\x01{_MARK};([0-9;]{{1,8}})\x02")
# JSON may hold these as they are, but a terminal must not get them and a program must not lose them.
_ESCAPED = {code: f"\\u{code:04x}" for code in (*range(127, 160), *_TURNING)}


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_plain).translate(_ESCAPED)


def _write(stream: TextIO, text: str) -> None:
    """Write text with control characters made harmless, whatever the encoding of the stream."""
    safe = _STYLE.sub("\033[\\1m", text.translate(_CONTROL))
    safe = safe.replace("\x01", "\ufffd").replace("\x02", "\ufffd")
    encoding = stream.encoding or "utf-8"
    stream.write(safe.encode(encoding, "replace").decode(encoding))


def _is_terminal(stream: TextIO) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _wants_colour(stream: TextIO) -> bool:
    return (
        _is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


class Bar:
    """Progress on stderr: a line that is written over, only on a terminal."""

    def __init__(self) -> None:
        self._shown = _is_terminal(sys.stderr)
        self._name, self._total, self._done = "", 0, 0
        self._started = self._last = 0.0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stage(self, name: str, total: int) -> None:
        """A stage begins."""
        self.close()
        self._name, self._total, self._done = name, total, 0
        self._started = time.monotonic()
        self._last = 0.0

    def advance(self, count: int = 1) -> None:
        """That many more are done."""
        self._done += count
        now = time.monotonic()
        if self._shown and now - self._last > 0.1 and now - self._started > 0.3:
            self._last = now
            self._draw(now - self._started)

    def _draw(self, seconds: float) -> None:
        rate = self._done / seconds if seconds else 0.0
        left = f", {_span((self._total - self._done) / rate)} left" if rate and self._total else ""
        of = f"/{self._total}" if self._total else ""
        sys.stderr.write(f"\r\033[K{self._name} {self._done}{of} ({rate:.0f}/s{left})")
        sys.stderr.flush()

    def close(self) -> None:
        """Clear the line."""
        if self._shown and self._last:
            sys.stderr.write("\r\033[K")
            self._last = 0.0


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Columns of equal width, the last one as wide as it likes."""
    listed = list(rows)
    if not listed:
        return []
    widths = [max(len(row[column]) for row in listed) for column in range(len(listed[0]) - 1)]
    return [
        "  ".join(
            [cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]]
        ).rstrip()
        for row in listed
    ]
