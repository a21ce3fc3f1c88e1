"""From words, or from the parameters of a request, to what a command runs with: made from the table of verbs."""

from __future__ import annotations

import argparse
import os
import re
import sys
from argparse import Namespace
from collections.abc import Collection, Mapping
from functools import cache
from itertools import islice, pairwise

from vaultmem import screen
from vaultmem.api import params
from vaultmem.api.params import LISTS
from vaultmem.api.verbs import COMMAND, JSON, Param, Verb, find_verb, resolve, resolve_command
from vaultmem.errors import UsageError
from vaultmem.text.values import TYPE_CHECKING, lazy

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from vaultmem.output import Output

_KINDS: dict[str, dict[str, Any]] = {
    "flag": {"action": "store_true"}, "switch": {"action": argparse.BooleanOptionalAction},
    "repeated": {"action": "append"}, "maybe": {"nargs": "?", "const": "-"}, "int": {"type": int},
    "float": {"type": float},
}  # fmt: skip
_CHOICE = lazy(r"invalid choice: '([^']*)' \(choose from ([^)]*)\)")
_OPTION = lazy(r"--[a-z][a-z-]*(?:=|\Z)|(-[a-z])\d*\Z")


class Parser(argparse.ArgumentParser):
    """Reports what is wrong in one line, in the format of the other errors."""

    command = ""

    def format_help(self) -> str:
        """With the text below the options, which is read for help alone."""
        self.epilog = _details(self.command)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Not the usage and an exit, but an error like others, with what was meant."""
        if wrong := _CHOICE.search(message):
            from difflib import get_close_matches

            known = re.findall(r"[\w-]+", wrong[2])
            near = get_close_matches(wrong[1], known, 1)
            message += f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"{message}; see {self.prog} --help")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """One memory may be named in several words; that is no list of memories."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.dest == "id" and action.nargs == "*":
            return "ID" if action.required else "[ID]"
        return super()._format_args(action, default_metavar)


# --- parsers


def program(name: str) -> str:
    """What is typed to call a command."""
    return f"vaultmem maintain {name}" if find_verb(name).upkeep else f"vaultmem {name}"


def parser(name: str, *, add_help: bool = True) -> Parser:
    """The argument parser of one command."""
    one = find_verb(name)
    width = _width()
    made = Parser(
        prog=program(name),
        description=screen.fold(one.summary[0].upper() + one.summary[1:] + ".", width),
        formatter_class=lambda prog: _Formatter(prog, width=width),
        allow_abbrev=False,
        add_help=add_help,
    )
    made.command = name
    _add_params(made, one)
    shared = made.add_argument_group("shared options")
    if not any(param.name == "vault" for param in one.params):
        shared.add_argument("--vault", metavar="FOLDER", help="the folder that holds the notes")
    shared.add_argument(
        "--format",
        choices=("text", "json", *resolve(one.formats)),
        default="text",
        help="text for people, json for programs",
    )
    shared.add_argument("--json", action="store_true", help="the same as --format json")
    return made


def _add_params(made: Parser, one: Verb) -> None:
    groups: dict[str, Any] = {"": made, "hidden": made}
    for param in one.of(COMMAND):
        if param.section not in groups:
            is_choice = param.section.startswith("(")
            groups[param.section] = (
                made.add_mutually_exclusive_group()
                if is_choice
                else made.add_argument_group(param.section)
            )
        names = [param.name] if param.place else [*filter(None, [param.flag]), param.long]
        action = groups[param.section].add_argument(*names, **_argument(param))
        if param.place == "*":
            action.required = param.needed  # for its usage


def _argument(param: Param) -> dict[str, Any]:
    """A parameter as argparse takes it."""
    how: dict[str, Any] = {"help": help_of(param)}
    if param.metavar:
        how["metavar"] = param.metavar
    if param.choices and (not isinstance(param.choices, str) or param.place):
        how["choices"] = tuple(resolve(param.choices))
    if param.place:
        several = {"nargs": param.place, "default": param.default}
        return how if param.place == "1" else how | several
    own = {"dest": param.name, "default": param.default, "required": param.needed}
    return {**how, **own, **_KINDS.get(param.kind, {})}


def help_of(param: Param) -> str | None:
    """What the help says of a parameter."""
    if param.section == "hidden":
        return argparse.SUPPRESS
    known = ", ".join(map(str, resolve(param.known))) if "{known}" in param.help else ""
    text = param.help.replace("{default}", str(param.default)).replace("{known}", known)
    return text or None


def _details(name: str) -> str | None:
    """The text below the options in the help of a command."""
    import tomllib

    with open(os.path.join(os.path.dirname(__file__), "details.toml"), "rb") as file:
        details = tomllib.load(file)
    text = str(details.get(find_verb(name).same_as or name, ""))
    return screen.wrap_text(text, _width()) or None


def _width() -> int:
    """How wide help may be. Left to itself, argparse imports shutil to know, before anybody needs help."""
    return min(screen.size(sys.stdout)[0], screen.MOST) - 2


# --- arguments


def parse(name: str, words: list[str], made: Parser | None = None) -> Namespace:
    """The arguments of a command in the words of a command line. Raises UsageError."""
    one = find_verb(name)
    read = vars((made or parser(name)).parse_args(options_first(name, words)))
    typed: dict[str, object] = {}
    for param in one.of(COMMAND):
        value = read.get(param.name)
        if isinstance(value, list) and param.kind not in LISTS:
            value = " ".join(value).replace("\0", "") if value else None
        elif isinstance(value, str) and param.kind in LISTS:
            value = [word.strip() for word in value.split(",") if word.strip()]
        if value == "" and param.kind == "date":
            raise UsageError(f"{param.long} is empty; see {program(name)} --help")
        is_none = value == "" and param.name == "id"
        typed[param.outside] = None if is_none else value
    try:
        return _namespace(name, typed, COMMAND, read)
    except UsageError as error:
        raise UsageError(f"{error}; see {program(name)} --help") from error


def from_params(name: str, arguments: Mapping[str, object]) -> Namespace:
    """The arguments of a command in the parameters of a request. Raises UsageError."""
    outside = {key.replace("-", "_"): value for key, value in arguments.items()}
    return _namespace(name, outside, JSON, {"format": "json"})


def _namespace(
    name: str, arguments: Mapping[str, object], at: str, read: Mapping[str, object]
) -> Namespace:
    known, schema = _declared(name, at)
    with params.at_door(at):
        checked = params.check_by(known, schema, arguments)
    empty = {param.name: _default(param) for param in find_verb(name).params}
    shared = {name: read.get(name) for name in ("vault", "format", "json") if name not in checked}
    if shared["json"] and shared["format"] == "text":
        shared["format"] = "json"
    return Namespace(**{**empty, **shared, **checked}, command=name)


@cache
def _declared(name: str, at: str) -> tuple[dict[str, Param], dict[str, object]]:
    """The parameters that a command has at a door, and their schema."""
    known = {param.outside: param for param in find_verb(name).of(at)}
    as_typed = _untyped_param if at == COMMAND else params.lenient
    return known, params.object_of(map(as_typed, known.values()))


def _untyped_param(param: Param) -> Param:
    """Without the checks of argparse itself: that an argument is there, and text, which may be no UTF-8."""
    is_text = param.kind in ("text", "line", "maybe", *LISTS) and not param.choices
    one = param.but(kind="any") if is_text else params.lenient(param)
    return one.but(needed=False) if param.place in ("1", "+") else one


def _default(param: Param) -> object:
    if param.place in ("*", "+") and param.kind in LISTS:
        return []
    return param.default


def run(name: str, args: Namespace, output: Output) -> int:
    """Carry out a command; its exit code."""
    own = find_verb(name).same_as or name
    command = find_verb(own).command
    with params.at_door(COMMAND):
        if command:
            return int(resolve_command(command)(args, output))
        from vaultmem.commands import rendering

        return rendering.run(own, args, output)


def options_first(name: str, words: list[str]) -> list[str]:
    """The words as argparse can read them: options first, then all others behind "--". Content, queries and titles may
    have options among them, and begin with a dash."""
    one = find_verb(name)
    if not any(param.place for param in one.params):
        return words
    switches = {"-h", "--help", "--json"}  # options without a value
    for param in one.params:
        if param.kind in ("flag", "switch"):
            switches |= {param.long, f"--no-{param.long[2:]}", param.flag}
    # Elsewhere "-x" is a typing error; in a query it is a word to exclude.
    letters = {"-h", *(param.flag for param in one.params)} if one.excludes else None
    return _options_first(words, switches, letters)


def _options_first(
    words: list[str], switches: Collection[str], letters: Collection[str] | None
) -> list[str]:
    options: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        match = _OPTION.match(word)
        if word == "--":
            others += rest
        elif match and (match[1] is None or letters is None or match[1] in letters):
            options.append(word)
            has_value = "=" in word or word[-1].isdigit()
            if not has_value and word not in switches:
                options += islice(rest, 1)
        else:
            others.append(word)
    return [*options, "--", *others] if others else options


def requested_format(words: list[str]) -> str:
    """The format in the words, for errors in the words themselves."""
    pairs = [*pairwise(words), *(tuple(word.split("=", 1)) for word in words if "=" in word)]
    chosen = [value for option, value in pairs if option == "--format"]
    return "json" if "--json" in words or chosen[-1:] == ["json"] else "text"
