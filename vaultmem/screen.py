"""Terminal output: the width of text, cutting and wrapping, clickable links, a pager.

Every command imports this module, so it uses no rich, textwrap or shutil (docs/adr/0026-screens.md).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

MOST = 120  # columns of running text; longer lines are hard to read
_NARROWEST = 20
_WITH_LINKS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "rio", "Hyper")  # TERM_PROGRAM
_LINK_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "contour")


def size(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of a stream's terminal; COLUMNS and LINES take precedence. 0 rows if unknown."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError, AttributeError):
        columns, rows = 80, 0
    from_environment = (os.environ.get("COLUMNS", ""), os.environ.get("LINES", ""))
    columns, rows = (
        int(text) if text.isdigit() and int(text) else there
        for text, there in zip(from_environment, (columns, rows), strict=True)
    )
    return max(columns or 80, _NARROWEST), rows


def has_links() -> bool:
    """Whether the terminal shows OSC 8 links: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda"""
    env = os.environ.get
    if forced := env("FORCE_HYPERLINK"):
        return forced != "0"
    if env("TMUX") or env("STY"):
        return False  # it may drop links, or print them raw
    vte = env("VTE_VERSION", "")
    return (
        env("TERM_PROGRAM") in _WITH_LINKS
        or env("TERM") in _LINK_TERMS
        or (vte.isdigit() and int(vte) >= 5000)
        or bool(env("WT_SESSION") or env("KONSOLE_VERSION"))
    )


# --- widths


def columns(text: str) -> int:
    """The width of a text in columns."""
    return len(text) if text.isascii() else sum(map(_of_letter, text))


def _of_letter(letter: str) -> int:
    if letter < "\u0300":
        return 1
    from unicodedata import combining, east_asian_width

    if combining(letter) or letter in "\u200b\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut(text: str, most: int) -> str:
    """The beginning of a text, ending in … if it was cut."""
    if columns(text) <= most:
        return text
    head, used = "", 1
    for letter in text:
        used += _of_letter(letter)
        if used > most:
            break
        head += letter
    return head.rstrip() + "…"


def cut_middle(text: str, most: int) -> str:
    """A path or URL cut in the middle: its end matters most."""
    if columns(text) <= most:
        return text
    folder, slash, name = text.rpartition("/")
    room = most - columns(name) - 2  # for "…/"
    if slash and room >= 0:
        return f"{_cut_to(folder, room)}…/{name}"
    ahead = max(most // 3, 1)
    return _cut_to(text, ahead) + "…" + _cut_to(text[::-1], most - ahead - 1)[::-1]


def _cut_to(text: str, most: int) -> str:
    return cut(text, most + 1).removesuffix("…") if columns(text) > most else text


def pad(text: str, width: int) -> str:
    """A text padded with blanks to a width in columns."""
    return text + " " * (width - columns(text))


def wrap(words: list[tuple[str, str]], width: int, most: int) -> list[str]:
    """Wrap words into at most `most` lines; each word is given plain and painted. A cut line ends in …."""
    lines: list[str] = []
    line, used = "", 0
    for text, painted in _broken(words, width):
        wide = columns(text)
        if line and used + 1 + wide > width - (2 if len(lines) + 1 == most else 0):
            lines.append(line)
            if len(lines) == most:
                lines[-1] += " …"
                return lines
            line, used = "", 0
        line, used = (f"{line} {painted}", used + 1 + wide) if line else (painted, wide)
    return [*lines, line] if line else lines


def fold(line: str, width: int, plain: Callable[[str], str] = str) -> str:
    """A line wrapped into several if too long. `plain` removes zero-width parts from a text."""
    flat = plain(line)
    if columns(flat) <= width:
        return line
    indent = len(flat) - len(flat.lstrip())
    column = flat.rfind("  ", 0, width // 2) + 2
    behind = column if column > indent + 1 else indent
    lines: list[str] = []
    text, used = "", -1
    for word in line.split(" "):
        wide = columns(plain(word))
        if used > behind and used + 1 + wide > width:
            lines.append(text.rstrip())
            text, used = " " * behind + word, behind + wide
        elif word or not lines or text.strip():
            text, used = (f"{text} {word}", used + 1 + wide) if used >= 0 else (word, wide)
    return "\n".join([*lines, text])


def wrap_text(text: str, width: int) -> str:
    """Running text wrapped to a width; indented rows of tables and examples stay separate lines."""
    lines: list[str] = []
    for line in text.split("\n"):
        runs_on = bool(lines and lines[-1]) and not {line[:1], lines[-1][:1]} & {"", " ", "-"}
        if runs_on and "  " not in line + lines[-1] and not lines[-1].endswith(":"):
            lines[-1] += " " + line
        else:
            lines.append(line)
    return "\n".join(fold(line, width) for line in lines)


def _broken(words: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Words that fit into a line: text without blanks, such as Chinese, may break anywhere."""
    parts: list[tuple[str, str]] = []
    for text, painted in words:
        rest = text
        if text == painted:
            while columns(rest) > width:
                head = _cut_to(rest, width)
                parts.append((head, head))
                rest = rest[len(head) :]
        parts.append((rest, painted if rest == text else rest))
    return parts


# --- the pager


def page(text: str) -> bool:
    """Show a text in the person's pager, as git does. Returns False if there is none."""
    import re
    import shlex
    import subprocess  # only for output longer than the screen

    pager = os.environ.get("VAULTMEM_PAGER", os.environ.get("PAGER", "less"))
    words = shlex.split(pager)
    if not words or words == ["cat"]:
        return False
    env = {**os.environ, "LESS": os.environ.get("LESS", "FRX"), "LV": os.environ.get("LV", "-c")}
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, env=env)
    except OSError:
        return False
    # An old less prints escape sequences of links.
    plain = re.sub("\033]8;;[^\033]*\033\\\\", "", text)
    try:
        process.communicate(plain.encode("utf-8", "replace"))
    except KeyboardInterrupt:
        process.wait()
    return True


def wants_pager(text: str) -> bool:
    """Whether stdout is a terminal and a text does not fit on its screen."""
    if text.count("\n") < 8 or os.environ.get("TERM") == "dumb" or not sys.stdin.isatty():
        return False
    width, rows = size(sys.stdout)
    return 0 < rows < sum(max(1, -(-len(line) // width)) for line in text.split("\n"))
