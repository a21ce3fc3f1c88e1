"""Writes docs/screens.md: what commands print at a terminal of 60, 100 and 160 columns, as tmux has it on its screen.

    python docs/screens/capture.py

The commands run in a scratch copy of the sample vault on a day that is set, so only what vaultmem prints can change."""

from __future__ import annotations

import os
import random
import shutil
import string
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "screens.md"
WIDTHS = (60, 100, 160)
LINES = 40  # of an answer
SETUP = [
    "vaultmem sync",
    "vaultmem write --category people Femi is allergic to hazelnuts",
    "vaultmem write --by claude Decision: the roof is done in slate, not in tiles",
    "vaultmem start",
    "vaultmem search --semantic cold upstairs",  # the model is loaded from now on
]
SHOWN = [
    "vaultmem",
    "vaultmem setup --dry-run",
    "vaultmem search boiler service",
    "vaultmem why 'bedroom wall damp' 'Damp quotes'",
    "vaultmem backlinks Roof",
    "vaultmem pending",
    "vaultmem list",
    "vaultmem recall 'which cake can I bake for Femi?' -k 2",
    "vaultmem history",
    "vaultmem undo --last --dry-run",
    "vaultmem status",
    "vaultmem doctor",
]
SHOWN_HOME = "/home/me"


class Terminal:
    """A shell in a window of a tmux server of our own."""

    def __init__(self, home: str) -> None:
        self.socket = f"{home}/tmux"
        environ = {
            "HOME": home, "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "PS1": "$ ", "HISTFILE": "/dev/null", "PAGER": "cat", "TZ": "UTC", "VAULTMEM_NOTIFY_METHOD": "none",
            "VAULTMEM_NOW": "2026-11-24T10:00:00", "VAULTMEM_TESTS": "1",
            "PROMPT_COMMAND": f"tmux -S {self.socket} wait-for -S ready",
        }  # fmt: skip
        shell = [
            "env",
            "-i",
            "TERM=screen-256color",
            *(f"{name}={one}" for name, one in environ.items()),
        ]
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "60", "-c", f"{home}/notes",
            *shell, "bash", "--norc", "--noprofile",
        )  # fmt: skip
        self._tmux("wait-for", "ready")

    def resize(self, width: int) -> None:
        """Give the terminal another width."""
        self._tmux("resize-window", "-x", str(width), "-y", "60")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.socket, *words],
            capture_output=True,
            text=True,
            timeout=180,
            check=True,
        )
        return done.stdout

    def run(self, command: str) -> str:
        """Type a command; the screen when the next prompt is there."""
        self._type("clear")
        self._tmux("clear-history")
        lines = self._type(command)[:-1]
        rest = len(lines) - LINES
        return "\n".join(lines[:LINES] + ([f"… {rest} more lines"] if rest > 0 else []))

    def _type(self, command: str) -> list[str]:
        self._tmux("send-keys", "-l", command)
        self._tmux("send-keys", "Enter")
        self._tmux("wait-for", "ready")
        while True:  # the prompt follows a moment later
            lines = self._tmux("capture-pane", "-p", "-S", "-").rstrip().splitlines()
            if lines and lines[-1].rstrip() == "$":
                return lines
            time.sleep(0.05)

    def close(self) -> None:
        """End the shell and the server."""
        self._tmux("kill-server")


def scratch_home() -> Path:
    """A new folder whose path is as long as the one that is shown instead, so that columns stay where they are."""
    while True:
        path = Path("/tmp", "".join(random.sample(string.ascii_lowercase, len(SHOWN_HOME) - 5)))
        try:
            path.mkdir(0o700)
        except FileExistsError:
            continue
        return path


def captured() -> dict[str, dict[int, str]]:
    """Each command with its screen by width."""
    home = scratch_home()
    screens: dict[str, dict[int, str]] = {command: {} for command in SHOWN}
    shutil.copytree(ROOT / "sample-vault", home / "notes")
    try:
        terminal = Terminal(str(home))
        for command in SETUP:
            terminal.run(command)
        for width in WIDTHS:
            terminal.resize(width)
            for command in SHOWN:
                screens[command][width] = terminal.run(command).replace(str(home), SHOWN_HOME)
        terminal.run("vaultmem stop")
        terminal.close()
    finally:
        shutil.rmtree(home)
    return screens


def main() -> None:
    """Write the page."""
    text = (
        "# Screens\n\nWhat a person sees in a terminal of 60, 100 and 160 columns, captured with tmux by\n"
        "`docs/screens/capture.py` in a copy of the sample vault. A terminal of your own shows colours, too, and\n"
        "links to click where it can.\n"
    )
    for command, by_width in captured().items():
        text += f"\n## `{command}`\n"
        for width, screen in by_width.items():
            text += f"\n{width} columns:\n\n```text\n{screen}\n```\n"
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    os.environ.pop("TMUX", None)
    main()
