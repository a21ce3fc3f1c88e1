"""The command line: a table of commands, of which only the one that is asked for is imported."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from itertools import pairwise

from vaultmem import __version__
from vaultmem.core.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from typing import NoReturn

COMMANDS = {
    "search": "find notes by words, and by meaning",
    "sync": "bring the index up to date with the notes",
    "init": "look at a vault for the first time",
    "related": "notes that belong near a note",
    "backlinks": "what links to a note",
    "links": "what a note links to",
    "unresolved": "links that lead nowhere, and links that could mean several notes",
    "tasks": "open tasks with their dates",
    "why": "explain a note's place in the results of a query",
    "status": "what is indexed, and how fresh it is",
    "doctor": "find what is wrong, and how to mend it",
    "completion": "print a completion script for bash, zsh or fish",
}

_ENDING = """
The vault is --vault FOLDER, else VAULTMEM_VAULT, else the vault at or above the working directory, else
`vault` in the settings. `vaultmem COMMAND --help` tells more about a command.
"""


def usage() -> str:
    """The text of `vaultmem --help`."""
    lines = [
        "usage: vaultmem COMMAND [...]", "",
        "The memory that people and their AI agents keep for life, in their own notes.", "", "commands:",
    ]  # fmt: skip
    lines += [f"  {name:<11} {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(lines) + "\n" + _ENDING


def parser(name: str) -> argparse.ArgumentParser:
    """The argument parser of one command."""
    import argparse

    from vaultmem.errors import UsageError

    class Parser(argparse.ArgumentParser):
        """Says what is wrong in one line, in the format of the other errors."""

        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{message}; see {self.prog} --help")

    module = import_module(f"vaultmem.commands.{name}")
    width = _width()
    made = Parser(
        prog=f"vaultmem {name}",
        description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
        epilog=getattr(module, "EPILOG", None),
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width),
        allow_abbrev=False,
    )
    module.arguments(made)
    shared = made.add_argument_group("shared options")
    shared.add_argument("--vault", metavar="FOLDER", help="the folder that holds the notes")
    shared.add_argument(
        "--format",
        choices=("auto", "text", "json"),
        default="auto",
        help="auto: text on a terminal, else json",
    )
    return made


def _width() -> int:
    """How wide help may be. Left to itself, argparse imports shutil to know, before any help is asked for."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (ValueError, OSError):
        columns = 80
    return max(columns, 13) - 2


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit code is 0 done, 1 failed, 2 wrongly typed, 130 interrupted."""
    words = sys.argv[1:] if argv is None else argv
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 (for as long as we run)
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Point stdout elsewhere, or Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk behind stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"vaultmem: the answer cannot be written: {_spoken(error)}\n")
        return 1
    return code


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"vaultmem {__version__}\n")
        return 0
    if words[0] not in COMMANDS:
        from vaultmem.output import Output

        said = f"unknown command {words[0]!r}{_nearest(words[0])}; see vaultmem --help"
        Output(_format(words)).error(said)
        return 2
    return _run_command(words[0], words[1:])


def _run_command(name: str, words: list[str]) -> int:
    from vaultmem.errors import VaultmemError
    from vaultmem.output import Output

    output = Output(_format(words))
    try:
        args = parser(name).parse_args(_prepared(name, words))
        output = Output(args.format)
        code = int(import_module(f"vaultmem.commands.{name}").run(args, output))
        sys.stdout.flush()
    except VaultmemError as error:
        output.error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        output.error(
            "interrupted; what was done so far is kept, the same command goes on from there"
        )
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:  # the border to the user, who must never see a traceback
        if os.environ.get("VAULTMEM_DEBUG"):
            raise
        output.error(
            f"{_spoken(error)}; vaultmem doctor may know more, VAULTMEM_DEBUG=1 shows where"
        )
        return 1
    return code


def _spoken(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    return f"{type(error).__name__} {error}".strip()


def _prepared(name: str, words: list[str]) -> list[str]:
    """The words as argparse can read them: a query may hold -words, which are no options."""
    prepare = getattr(import_module(f"vaultmem.commands.{name}"), "prepare", None)
    return list(prepare(words)) if prepare else words


def _format(words: list[str]) -> str:
    """The format that is asked for, for errors in the asking itself."""
    pairs = [*pairwise(words), *(tuple(word.split("=", 1)) for word in words if "=" in word)]
    chosen = [value for option, value in pairs if option == "--format"]
    return chosen[-1] if chosen and chosen[-1] in ("text", "json") else "auto"


def _nearest(word: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(word, COMMANDS, 1)
    return f" (did you mean {found[0]}?)" if found else ""


if __name__ == "__main__":
    sys.exit(main())
