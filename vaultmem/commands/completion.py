"""vaultmem completion: a completion script for the shell, made from the parsers themselves."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from vaultmem import paths
from vaultmem.api.verbs import COMMAND, commands, resolve
from vaultmem.commands.parsing import declared as verb
from vaultmem.errors import UsageError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

Options = dict[str, dict[str, str]]  # by command and option: the values it knows
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def run(args: argparse.Namespace, output: Output) -> int:
    """Print the script."""
    alias = args.alias or ""
    if alias and not _NAME.fullmatch(alias):
        raise UsageError(f"{alias!r} cannot be the name of a command")
    listed = {name: one.summary for name, one in commands().items() if not one.upkeep}
    summaries = {**listed, "maintain": "one step of the upkeep"}
    options = {name: _options(name) for name in commands()}
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](summaries, options)
    output.script(made + _ENDS[args.shell][bool(alias)].format(alias=alias, program=_program()))
    return 0


def _program() -> str:
    """How an alias calls it: quoted for the program, and once more as the value of the alias."""
    return shlex.quote(shlex.join(paths.program()))


# How the script ends: alone, and with an alias.
_ENDS = {
    "bash": (
        "complete -F _vaultmem vaultmem\n",
        "alias {alias}={program}\ncomplete -F _vaultmem vaultmem {alias}\n",
    ),
    "zsh": ('_vaultmem "$@"\n', "alias {alias}={program}\ncompdef _vaultmem vaultmem {alias}\n"),
    "fish": ("", "alias {alias} {program}\ncomplete -c {alias} -w vaultmem\n"),
}


def _options(name: str) -> dict[str, str]:
    """The long options of a command, each with the values it knows, in words with blanks between them."""
    options = {
        "--help": "",
        "--vault": "",
        "--format": _words(("auto", "text", "json", *resolve(verb(name).formats))),
    }
    for param in verb(name).of(COMMAND):
        if not param.place:
            options[param.long] = _words(
                resolve(param.choices or param.known) if param.kind != "repeated" else ()
            )
            options |= {f"--no-{param.long[2:]}": ""} if param.kind == "switch" else {}
    return dict(sorted(options.items()))


def _words(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def _job_names() -> str:
    from vaultmem.agent.jobs import JOBS

    return " ".join(JOBS)


def _upkeep() -> str:
    return _words(name for name, one in commands().items() if one.upkeep)


def _talk_words() -> str:
    what = next(one for one in verb("conversations").params if one.name == "what")
    return _words(resolve(what.choices))


def _bash(commands: dict[str, str], options: Options) -> str:
    cases = "\n".join(
        f'        {name}) words="{" ".join(given)}" ;;' for name, given in options.items()
    )
    values = "\n".join(
        f'        {name}:{option}) COMPREPLY=($(compgen -W "{known}" -- "$current")); return ;;'
        for name, given in options.items()
        for option, known in given.items()
        if known
    )
    return f"""\
_vaultmem() {{
    local words current=${{COMP_WORDS[COMP_CWORD]}}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(commands)}" -- "$current")); return
    fi
    local command=${{COMP_WORDS[1]}}
    [ "$command" = maintain ] && [ "$COMP_CWORD" -gt 2 ] && command=${{COMP_WORDS[2]}}
    case $command:${{COMP_WORDS[COMP_CWORD-1]}} in
        maintain:maintain) COMPREPLY=($(compgen -W "{_upkeep()}" -- "$current")); return ;;
        *:--vault) COMPREPLY=($(compgen -d -- "$current")); return ;;
        jobs:jobs) COMPREPLY=($(compgen -W "run" -- "$current")); return ;;
        jobs:run) COMPREPLY=($(compgen -W "{_job_names()}" -- "$current")); return ;;
        conversations:conversations) COMPREPLY=($(compgen -W "{_talk_words()}" -- "$current")); return ;;
{values}
    esac
    case $command in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
"""


def _zsh(commands: dict[str, str], options: Options) -> str:
    listed = "\n".join(
        f"        '{name}:{summary.replace(chr(39), '')}'" for name, summary in commands.items()
    )
    cases = "\n".join(
        f"        {name}) compadd -- {' '.join(given)} ;;" for name, given in options.items()
    )
    values = "\n".join(
        f"        {name}:{option}) compadd -- {known}; return ;;"
        for name, given in options.items()
        for option, known in given.items()
        if known
    )
    return f"""\
#compdef vaultmem
_vaultmem() {{
    local -a commands=(
{listed}
    )
    if (( CURRENT == 2 )); then _describe command commands; return; fi
    local command=$words[2]
    [[ $command = maintain && $CURRENT -gt 3 ]] && command=$words[3]
    case $command:$words[CURRENT-1] in
        maintain:maintain) compadd {_upkeep()}; return ;;
        *:--vault) _files -/; return ;;
        jobs:jobs) compadd run; return ;;
        jobs:run) compadd {_job_names()}; return ;;
        conversations:conversations) compadd {_talk_words()}; return ;;
{values}
    esac
    case $command in
{cases}
    esac
}}
"""


def _fish(commands: dict[str, str], options: Options) -> str:
    lines = ["complete -c vaultmem -f"]
    for name, summary in commands.items():
        lines.append(f'complete -c vaultmem -n __fish_use_subcommand -a {name} -d "{summary}"')
    for name, given in options.items():
        for option, known in given.items():
            extra = f" -r -a '{known}'" if known else " -r -F" if option == "--vault" else ""
            lines.append(
                f"complete -c vaultmem -n '__fish_seen_subcommand_from {name}' -l {option[2:]}{extra}"
            )
    lines.append(f"complete -c vaultmem -n '__fish_seen_subcommand_from maintain' -a '{_upkeep()}'")
    lines.append(
        f"complete -c vaultmem -n '__fish_seen_subcommand_from jobs' -a 'run {_job_names()}'"
    )
    lines.append(
        f"complete -c vaultmem -n '__fish_seen_subcommand_from conversations' -a '{_talk_words()}'"
    )
    return "\n".join(lines) + "\n"
