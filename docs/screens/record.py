"""Records `vaultmem demo` at a terminal and draws it as a moving picture, docs/screens/demo.svg:

    python docs/screens/record.py

The picture is one SVG without scripts: each line is uncovered at the time at which it was printed, and the sheet
of lines moves up as a terminal scrolls. A viewer that does not animate shows the beginning."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import time
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

COLUMNS, ROWS = 92, 26
WIDTH, HEIGHT, MARGIN, TITLE = (
    8.4,
    20,
    18,
    34,
)  # pixels: a character, a line, around them, the bar on top
HOLD = 4.0  # seconds for which the last line stays
LONGEST_WAIT = 1.5  # seconds; a longer one, of a busy machine, is shown as this
INK = {"1": "#e6edf3", "2": "#7d8590", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff"}
PLAIN, GROUND, BAR = "#c9d1d9", "#0d1117", "#161b22"
PICTURE = Path(__file__).with_name("demo.svg")


@dataclass
class Line:
    """A line of the terminal: when its first and its last character came, and its text by style."""

    start: float
    end: float = 0.0
    spans: list[tuple[str, str]] = field(default_factory=list)


def record(words: list[str]) -> list[tuple[float, str]]:
    """Run a command at a terminal; what it prints, with the seconds since it first printed something."""
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm-256color")
        for name in ("NO_COLOR", "COLUMNS"):
            os.environ.pop(name, None)
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    parts: list[tuple[float, str]] = []
    last = time.monotonic()
    while True:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        waited, last = time.monotonic() - last, time.monotonic()
        before = parts[-1][0] if parts else -waited
        parts.append((before + min(waited, LONGEST_WAIT), part.decode("utf-8", "replace")))
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("".join(text for _, text in parts))
    return parts


def lines_of(parts: list[tuple[float, str]]) -> list[Line]:
    """What was printed, line by line."""
    lines, style = [Line(0.0)], ""
    for seconds, text in parts:
        for code, end, plain in re.findall(r"\x1b\[([\d;]*)m|(\r\n)|([^\x1b\r]+)", text):
            if end:
                lines.append(Line(seconds))
            elif not plain:
                style = "" if code in ("", "0") else code
            else:
                line = lines[-1]
                if not line.spans:
                    line.start = seconds
                line.end = seconds
                same = line.spans and line.spans[-1][0] == style
                before = line.spans.pop()[1] if same else ""
                line.spans.append((style, before + plain))
    printed = [number for number, line in enumerate(lines) if line.spans]
    return lines[printed[0] : printed[-1] + 1]


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def draw(lines: list[Line]) -> str:
    """The picture."""
    long = lines[-1].end + HOLD
    width, height = COLUMNS * WIDTH + 2 * MARGIN, ROWS * HEIGHT + TITLE + 2 * MARGIN
    dots = "".join(
        f'<circle cx="{20 + 18 * i}" cy="{TITLE / 2}" r="5.5" fill="{ink}"/>'
        for i, ink in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    drawn = "\n".join(_line(number, line, long) for number, line in enumerate(lines))
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">
<title>vaultmem demo</title>
<rect width="100%" height="100%" rx="9" fill="{GROUND}"/>
<path d="M0 {TITLE}V9a9 9 0 0 1 9-9H{width - 9:g}a9 9 0 0 1 9 9V{TITLE}z" fill="{BAR}"/>
{dots}
<svg x="{MARGIN}" y="{TITLE + MARGIN / 2:g}" width="{COLUMNS * WIDTH:g}" height="{ROWS * HEIGHT}">
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="{PLAIN}">
{_scroll(lines, long)}
{drawn}
</g>
</svg>
</svg>
"""


def _line(number: int, line: Line, long: float) -> str:
    """One line of text, uncovered from left to right while it was typed."""
    column, spans = 0, []
    for style, text in line.spans:
        cells = columns_of(text)
        ink = f' fill="{INK[style]}"' if style in INK else ""
        bold = ' font-weight="700"' if style == "1" else ""
        spans.append(
            f'<tspan x="{column * WIDTH:g}" textLength="{cells * WIDTH:g}"{ink}{bold}>{escape(text)}</tspan>'
        )
        column += cells
    if not spans:
        return ""
    top, whole = number * HEIGHT, column * WIDTH
    times = _times([0.0, line.start, line.end, long], long)
    return (
        f'<svg y="{top}" width="{whole:g}" height="{HEIGHT}">'
        f'<animate attributeName="width" values="0;0;{whole:g};{whole:g}" keyTimes="{times}" '
        f'dur="{long:.2f}s" repeatCount="indefinite"/>'
        f'<text y="15" xml:space="preserve">{"".join(spans)}</text></svg>'
    )


def _scroll(lines: list[Line], long: float) -> str:
    """Moves the sheet up by a line for each one that has no room below."""
    moves = [(0.0, 0)]
    for number, line in enumerate(lines):
        if number >= ROWS and line.spans:
            moves.append((line.start, (number + 1 - ROWS) * HEIGHT))
    values = ";".join(f"0 {-up}" for _, up in moves)
    times = _times([seconds for seconds, _ in moves], long)
    return (
        f'<animateTransform attributeName="transform" type="translate" calcMode="discrete" values="{values}" '
        f'keyTimes="{times}" dur="{long:.2f}s" repeatCount="indefinite"/>'
    )


def _times(seconds: list[float], long: float) -> str:
    return ";".join(f"{one / long:.4f}".rstrip("0").rstrip(".") for one in seconds)


if __name__ == "__main__":
    PICTURE.write_text(draw(lines_of(record([sys.executable, "-m", "vaultmem", "demo"]))), "utf-8")
