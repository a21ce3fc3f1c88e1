"""Parameters of a request: the options of a command by their long names, checked as the command line does."""

from __future__ import annotations

import argparse

from vaultmem.agent.request import WRONG_PARAMS, RequestError
from vaultmem.commands.parsing import Parser

Params = dict[str, object]
OWN_PROCESS = {"open", "batch", "vault", "format"}  # options that mean something only to a caller


def options(parser: Parser, params: Params) -> argparse.Namespace:
    """The parameters as the command reads them, or an error that says which are known."""
    actions = {
        name: action
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of its options
        if (name := _long_name(action)) not in OWN_PROCESS
    }
    args = argparse.Namespace(**{action.dest: action.default for action in parser._actions})  # noqa: SLF001 - as above
    given = {name.replace("_", "-"): found for name, found in params.items()}
    if unknown := sorted(given.keys() - actions.keys()):
        known = ", ".join(actions)
        raise RequestError(WRONG_PARAMS, f"unknown: {unknown[0][:40]!r}; known: {known}")
    for name, action in actions.items():
        if name in given:
            setattr(args, action.dest, _checked(name, action, given[name]))
        elif action.required and not action.option_strings and action.nargs != "*":
            raise RequestError(WRONG_PARAMS, f'"{name}" is missing')
        elif action.nargs == "*":
            setattr(args, action.dest, [])
    return args


def _long_name(action: argparse.Action) -> str:
    """The first with two dashes: what switches something off, such as --no-notes, comes after it."""
    named = next((one for one in action.option_strings if one.startswith("--")), action.dest)
    return named.lstrip("-")


def _checked(name: str, action: argparse.Action, given: object) -> object:
    if action.nargs == 0:
        wanted, fits = "true or false", isinstance(given, bool)
    elif action.type is int:
        wanted, fits = "a whole number", type(given) is int
    elif action.type is float:
        wanted, fits = "a number", type(given) in (int, float)
    else:
        wanted, fits = "text", isinstance(given, str)
    if fits and action.choices is not None and given not in action.choices:
        wanted, fits = f"one of {', '.join(map(str, action.choices))}", False
    if not fits:
        raise RequestError(WRONG_PARAMS, f'"{name}" must be {wanted}')
    return [given] if action.nargs == "*" else given


def text(params: Params, name: str) -> str:
    """A parameter that must be text."""
    found = params.get(name)
    if not isinstance(found, str):
        raise RequestError(WRONG_PARAMS, f'"{name}" must be text')
    return found


def switches(params: Params, defaults: dict[str, bool]) -> dict[str, bool]:
    """Parameters that are true or false, and no others."""
    if unknown := sorted(params.keys() - defaults.keys()):
        known = ", ".join(defaults) or "none"
        raise RequestError(WRONG_PARAMS, f"unknown: {unknown[0][:40]!r}; known: {known}")
    found = dict(defaults)
    for name, given in params.items():
        if not isinstance(given, bool):
            raise RequestError(WRONG_PARAMS, f'"{name}" must be true or false')
        found[name] = given
    return found
