"""The manual page: `vaultmem help man`, and share/man/man1 of an installation. Made from the table of verbs."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator

from vaultmem import __version__, screen
from vaultmem.api.verbs import COMMAND, GROUPS, Param, Verb, commands
from vaultmem.commands.option_parser import help_of
from vaultmem.commands.parsing import program

_HEAD = """\
.TH VAULTMEM 1 "" "vaultmem {version}" "User Commands"
.SH NAME
vaultmem \\- the memory that people and their AI agents share, in their own notes
.SH SYNOPSIS
.B vaultmem
.I COMMAND
.RI [ OPTIONS ]
.br
.B vaultmem help
.RI [ COMMAND ]
.SH DESCRIPTION
vaultmem keeps what you and your AI assistants want to remember as plain notes in an Obsidian vault or a Logseq graph.
It finds notes by words and by meaning, reminds of what is due, and takes back whatever it did.
.PP
The vault is \\fB\\-\\-vault\\fR, else \\fBVAULTMEM_VAULT\\fR, else the vault at or above the working directory,
else the setting \\fBvault\\fR. Every command takes \\fB\\-\\-vault\\fR \\fIFOLDER\\fR,
\\fB\\-\\-format\\fR \\fBtext\\fR|\\fBjson\\fR and \\fB\\-\\-json\\fR; data goes to the standard output, all
else to the standard error.
"""
_WIDTH = 72  # of examples and tables: with the indent, what 80 columns hold
_END = """\
.SH "EXIT STATUS"
.TP
.B 0
done; also without results
.TP
.B 1
failed
.TP
.B 2
wrongly typed
.TP
.B 130
interrupted
.SH ENVIRONMENT
.TP
.B VAULTMEM_VAULT
the vault
.TP
.B VAULTMEM_STATE
the folder for index and history
.TP
.B VAULTMEM_PAGER, PAGER
what shows long answers; \\fBcat\\fR for none
.TP
.B VAULTMEM_...
any setting, with _ for its dots: VAULTMEM_LLM_MODEL
.SH FILES
.TP
.I ~/.config/vaultmem/config.yaml
your settings
.TP
.I VAULT/.vaultmem/config.yaml
those of a vault
.TP
.I VAULT/vaultmem/
memories, pending.md and views: the one folder that is written to
.TP
.I ~/.local/state/vaultmem/
index and history
.SH "SEE ALSO"
\\fBvaultmem COMMAND \\-\\-help\\fR, and the guide in docs/ of the source.
"""


def page() -> str:
    """The whole page, as troff."""
    with open(os.path.join(os.path.dirname(__file__), "details.toml"), "rb") as file:
        details = tomllib.load(file)
    lines = [_HEAD.format(version=__version__)]
    for group in filter(None, GROUPS):
        lines.append(f'.SH "{group.upper()}"\n')
        for name, one in commands().items():
            if one.group == group:
                lines += _command(name, one, str(details.get(one.same_as or name, "")))
    return "".join(lines) + _END


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
    """Words as troff takes them: nothing of them is a request or an escape, and a dash is the one that is typed."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    lines = (f"\\&{line}" if line[:1] in (".", "'") else line for line in plain.split("\n"))
    return "\n".join(lines)
