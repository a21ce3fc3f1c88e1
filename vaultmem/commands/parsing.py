"""From words to options: the argument parser of each command."""

from __future__ import annotations

import argparse
import keyword
import os
import re
from collections.abc import Collection
from importlib import import_module
from itertools import islice, pairwise

from vaultmem.commands.table import COMMANDS, SAME_AS
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn


_PARAMETER = re.compile(r'"([a-z_]+)"(?= )')


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, in the format of the other errors."""

    def error(self, message: str) -> NoReturn:
        """Not the usage and an exit, but an error like others."""
        raise UsageError(f"{message}; see {self.prog} --help")

    def spelled(self, said: str) -> str:
        """A message that begins with the name of a parameter, with the option that gives it here."""
        found = _PARAMETER.match(said)
        options = (one.option_strings for one in self._actions if found and one.dest == found[1])
        option = next((names[-1] for names in options if names), None)
        return option + said[found.end() :] if found and option else said


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """One memory may be named in several words; that is no list of memories."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.dest == "id" and action.nargs == "*":
            return "ID" if action.required else "[ID]"
        return super()._format_args(action, default_metavar)


def module_of(name: str) -> ModuleType:
    """The module of a command."""
    own = SAME_AS.get(name, name).replace("-", "_")
    own = f"{own}_" if keyword.iskeyword(own) else own
    return import_module(f"vaultmem.commands.{own}")


def parser(name: str, *, add_help: bool = True) -> Parser:
    """The argument parser of one command."""
    module = module_of(name)
    width = _width()
    made = Parser(
        prog=f"vaultmem {name}",
        description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
        epilog=getattr(module, "EPILOG", None),
        formatter_class=lambda prog: _Formatter(prog, width=width),
        allow_abbrev=False,
        add_help=add_help,
    )
    module.arguments(made)
    shared = made.add_argument_group("shared options")
    shared.add_argument("--vault", metavar="FOLDER", help="the folder that holds the notes")
    shared.add_argument(
        "--format",
        choices=("auto", "text", "json", *getattr(module, "FORMATS", ())),
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


def prepared(name: str, words: list[str]) -> list[str]:
    """The words as argparse can read them: a query may hold -words, which are no options."""
    prepare = getattr(module_of(name), "prepare", None)
    return list(prepare(words)) if prepare else words


_OPTION = re.compile(r"--?[a-z][a-z-]*(?:=|\Z)|-n\d+\Z")


def apart(words: list[str], switches: Collection[str]) -> list[str]:
    """Options first, then all other words behind "--": content and titles of several words may have options
    among them, and begin with a dash. `switches` are the options that take no value."""
    options: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += rest
        elif _OPTION.match(word):
            options.append(word)
            if "=" not in word and word not in ("-h", "--help", *switches):
                options += islice(rest, 1)
        else:
            others.append(word)
    return [*options, "--", *others] if others else options


def asked_format(words: list[str]) -> str:
    """The format that is asked for, for errors in the asking itself."""
    pairs = [*pairwise(words), *(tuple(word.split("=", 1)) for word in words if "=" in word)]
    chosen = [value for option, value in pairs if option == "--format"]
    return chosen[-1] if chosen and chosen[-1] in ("text", "json") else "auto"
