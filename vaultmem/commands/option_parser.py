"""The argument parser of a command, made from the table of verbs: for help, for errors, and for words written in ways
that `parsing` leaves to it. And the manual page: `vaultmem help man`, share/man/man1 of an installation."""

from __future__ import annotations

import argparse
import re
import sys

from vaultmem import __version__, screen
from vaultmem.api.verbs import COMMAND, GROUPS, Param, Verb, commands, find_verb, resolve
from vaultmem.commands.parsing import choices_of, program, shared_options
from vaultmem.errors import UsageError
from vaultmem.light import TYPE_CHECKING
from vaultmem.text.values import did_you_mean, file_text, lazy, toml_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    Keywords = dict[str, Any]  # of add_argument()

_KINDS: dict[str, Keywords] = {
    "flag": {"action": "store_true"}, "switch": {"action": argparse.BooleanOptionalAction},
    "repeated": {"action": "append"}, "maybe": {"nargs": "?", "const": "-"}, "int": {"type": int},
    "float": {"type": float},
}  # fmt: skip
# What argparse says of one argument, and how the check of parameters has it at all doors.
_ARGUMENT = lazy(
    r"argument (?:-\w/)?(?P<name>\S+): (?:invalid (?P<kind>int|float) value: (?P<value>.*)"
    r"|invalid choice: (?P<wrong>.*) \(choose from (?P<known>[^)]*)\)|(?P<none>expected one argument))"
)
_NUMBERS = {"int": "a whole number", "float": "a number"}


class Parser(argparse.ArgumentParser):
    """Reports what is wrong in one line, in the format of the other errors."""

    command = ""

    def format_help(self) -> str:
        """With the text below the options, which is read for help alone."""
        text = _details().get(find_verb(self.command).same_as or self.command, "")
        self.epilog = screen.wrap_text(text, _width()) or None
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with a suggestion, instead of printing the usage and exiting."""
        if match := _ARGUMENT.fullmatch(message):
            name = match["name"]
            message = f"{name if name.startswith('-') else name.upper()} {_wrong(match)}"
        raise UsageError(f"{message}; see {self.prog} --help")


def _wrong(match: re.Match[str]) -> str:
    if match["none"]:
        return "needs a value"
    if match["kind"]:
        return f"must be {_NUMBERS[match['kind']]}, not {match['value']}"
    known = re.findall(r"[\w-]+", match["known"])
    meant = did_you_mean(match["wrong"].strip("'"), known)
    return f"must be one of {', '.join(known)}, not {match['wrong']}{meant}"


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Join words: a memory may be named in several words."""

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.dest == "id" and action.nargs == "*":
            return "ID" if action.required else "[ID]"
        return super()._format_args(action, default_metavar)


def parser(name: str, *, add_help: bool = True) -> Parser:
    """The argument parser of one command."""
    width = _width()
    one = find_verb(name)
    made = Parser(
        prog=program(name),
        description=screen.fold(one.summary[0].upper() + one.summary[1:] + ".", width),
        formatter_class=lambda prog: _Formatter(prog, width=width),
        allow_abbrev=False,
        add_help=add_help,
    )
    made.command = name
    groups: dict[str, Any] = {"": made, "hidden": made}
    for param in (*one.of(COMMAND), *shared_options(one)):
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
    return made


def _argument(param: Param) -> Keywords:
    """A parameter as argparse takes it."""
    how: Keywords = {"help": help_of(param)}
    if param.metavar:
        how["metavar"] = param.metavar
    if choices := choices_of(param):
        how["choices"] = choices
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


def _details() -> dict[str, str]:
    """The text below the options in the help of commands."""
    return toml_table("vaultmem.commands", "details")


def _width() -> int:
    """The width of help. By default argparse imports shutil for it, even where no help is printed."""
    return min(screen.size(sys.stdout)[0], screen.MOST) - 2


# --- the manual page

_WIDTH = 72  # of examples and tables: with the indent, what 80 columns hold


def page() -> str:
    """The whole page, as troff."""
    details, parts = _details(), list[str]()
    for group in filter(None, GROUPS):
        parts.append(f'.SH "{group.upper()}"\n')
        for name, one in commands().items():
            if one.group == group:
                parts += _command(name, one, details.get(one.same_as or name, ""))
    page = file_text("vaultmem.commands", "manual.troff").replace("@VERSION@", __version__)
    return page.replace("@COMMANDS@\n", "".join(parts))


def _command(name: str, one: Verb, details: str) -> Iterator[str]:
    params = [param for param in one.of(COMMAND) if param.section != "hidden"]
    places = "".join(f" {_place(param)}" for param in params if param.place)
    yield f'.SS "{program(name)}{_text(places)}"\n{_text(one.summary[0].upper() + one.summary[1:])}.\n'
    for param in params:
        text = help_of(param) or ""
        if param.place and text:
            yield f".TP\n.I {_text(_value(param))}\n{_text(text)}\n"
        elif not param.place:
            names = "\\fR, \\fB".join(_text(each) for each in (param.flag, param.long) if each)
            value = "" if param.kind in ("flag", "switch") else f" \\fI{_text(_value(param))}\\fR"
            yield f".TP\n\\fB{names}\\fR{value}\n{_text(text)}\n"
    if details.strip():
        yield f".PP\n.EX\n{_text(screen.wrap_text(details, _WIDTH).strip())}\n.EE\n"


def _place(param: Param) -> str:
    """An argument as a synopsis has it."""
    text = _value(param) + ("..." if param.place in "*+" else "")
    return text if param.needed else f"[{text}]"


def _value(param: Param) -> str:
    return param.metavar or param.name.upper()


def _text(text: str) -> str:
    """The text escaped for troff: no requests, no escapes, and dashes as they are typed."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    lines = (f"\\&{line}" if line[:1] in (".", "'") else line for line in plain.split("\n"))
    return "\n".join(lines)
