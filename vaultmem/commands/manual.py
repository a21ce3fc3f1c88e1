"""The help of a command, and the manual page: `vaultmem help man`, share/man/man1 of an installation. Made from the
table of verbs, with the texts of details.toml."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator

from vaultmem import __version__, screen
from vaultmem.api.verbs import COMMAND, GROUPS, Param, Verb, commands, find_verb, resolve
from vaultmem.commands.parsing import HELP, names_of, program, shared_options, takes_value
from vaultmem.text.values import file_text, toml_table

_INDENT = 24  # columns of options with their values
_TIED = "\xa0"  # a non-breaking space
_ARGUMENTS, _OPTIONS = "positional arguments", "options"


def of_command(name: str) -> str:
    """The text of `vaultmem NAME --help`."""
    one, width = find_verb(name), min(screen.size(sys.stdout)[0], screen.MOST) - 2
    head = f"usage: {program(name)} "
    usage = _filled(head, " ".join(_usage(one)), len(head), width).replace(_TIED, " ")
    asked = _row(", ".join(HELP), "show this help message and exit", width)
    sections: dict[str, list[str]] = {_ARGUMENTS: [], _OPTIONS: [asked]}
    for param in (*_listed(one), *shared_options(one)):
        section = _OPTIONS if param.section[:1] in ("", "(") else param.section
        names = (
            _value(param) if param.place else f"{', '.join(names_of(param))}{_value_behind(param)}"
        )
        row = _row(names, help_of(param), width)
        sections.setdefault(_ARGUMENTS if param.place else section, []).append(row)
    listed = ("\n".join([f"{title}:", *rows]) for title, rows in sections.items() if rows)
    details = screen.wrap_text(_details(name, one), width)
    return (
        "\n\n".join([usage, screen.fold(_sentence(one), width), *listed, details]).rstrip() + "\n"
    )


def _usage(one: Verb) -> Iterator[str]:
    """The options, mutually exclusive ones in one pair of brackets; then the positional arguments."""
    params = [*_listed(one), *shared_options(one)]
    options = {"": HELP[0]}
    for param in (each for each in params if not each.place):
        names = names_of(param) if param.kind == "switch" else names_of(param)[:1]
        text = " | ".join(f"{name}{_value_behind(param)}" for name in names)
        key = param.section if param.section[:1] == "(" else param.name
        options[key] = f"{options[key]} | {text}" if key in options else text
    needed = {param.name for param in params if param.needed}
    for key, text in options.items():
        yield (text if key in needed else f"[{text}]").replace(" ", _TIED)
    yield from (_place(param) for param in params if param.place)


def _row(names: str, text: str, width: int) -> str:
    """An option with its help beside it, or below it if it is long."""
    head = f"  {names}".ljust(_INDENT)
    if text and head[-2:].strip():
        return f"{head}\n{_filled(' ' * _INDENT, text, _INDENT, width)}"
    return _filled(head, text, _INDENT, width) if text else head.rstrip()


def _filled(head: str, text: str, indent: int, width: int) -> str:
    return textwrap.fill(
        text, width, initial_indent=head, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip


def _listed(one: Verb) -> list[Param]:
    return [param for param in one.of(COMMAND) if param.section != "hidden"]


def _value(param: Param) -> str:
    """The placeholder for the value: its choices if few, else a word in capitals."""
    is_listed = (
        param.choices and not param.metavar and (param.place or not isinstance(param.choices, str))
    )
    return f"{{{','.join(map(str, resolve(param.choices)))}}}" if is_listed else param.value


def _value_behind(param: Param) -> str:
    return f" {_value(param)}" if takes_value(param) else ""


def _place(param: Param) -> str:
    """A positional argument in a synopsis; a memory's name may have several words, and a text may come from stdin."""
    text = _value(param) + ("..." if param.place in "*+" and param.name != "id" else "")
    return text if param.needed and param.kind != "long" else f"[{text}]"


def help_of(param: Param) -> str:
    """The help text of a parameter."""
    values = ", ".join(map(str, resolve(param.known))) if "{known}" in param.help else ""
    return param.help.replace("{default}", str(param.default)).replace("{known}", values)


def _sentence(one: Verb) -> str:
    return f"{one.summary[0].upper()}{one.summary[1:]}."


def _details(name: str, one: Verb) -> str:
    return str(toml_table("vaultmem.commands", "details").get(one.same_as or name, ""))


# --- the manual page

_WIDTH = 72  # columns of examples and tables; with the indent, 80


def page() -> str:
    """The whole page, as troff."""
    parts = list[str]()
    for group in filter(None, GROUPS):
        parts.append(f'.SH "{group.upper()}"\n')
        for name, one in commands().items():
            if one.group == group:
                parts += _command(name, one)
    page = file_text("vaultmem.commands", "manual.troff").replace("@VERSION@", __version__)
    return page.replace("@COMMANDS@\n", "".join(parts))


def _command(name: str, one: Verb) -> Iterator[str]:
    places = "".join(f" {_place(param)}" for param in _listed(one) if param.place)
    yield f'.SS "{program(name)}{_text(places)}"\n{_text(_sentence(one))}\n'
    for param in _listed(one):
        text = _text(help_of(param))
        if param.place and text:
            yield f".TP\n.I {_text(_value(param))}\n{text}\n"
        elif not param.place:
            names = "\\fR, \\fB".join(map(_text, names_of(param)))
            value = f" \\fI{_text(_value(param))}\\fR" if takes_value(param) else ""
            yield f".TP\n\\fB{names}\\fR{value}\n{text}\n"
    if details := screen.wrap_text(_details(name, one), _WIDTH).strip():
        yield f".PP\n.EX\n{_text(details)}\n.EE\n"


def _text(text: str) -> str:
    """The text escaped for troff: no requests, no escapes, and dashes as they are typed."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    lines = (f"\\&{line}" if line[:1] in (".", "'") else line for line in plain.split("\n"))
    return "\n".join(lines)
