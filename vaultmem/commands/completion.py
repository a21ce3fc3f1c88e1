"""vaultmem completion: a completion script for the shell, made from the table of verbs."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Iterable, Mapping

from vaultmem import paths
from vaultmem.api.verbs import COMMAND, commands, declared, resolve
from vaultmem.errors import UsageError
from vaultmem.output import Output

Options = dict[str, dict[str, str]]  # by command and option: the values it knows
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# How the script ends: alone, and with an alias.
_ENDS = {
    "bash": (
        "complete -F _vaultmem vaultmem\n",
        "alias {alias}={program}\ncomplete -F _vaultmem vaultmem {alias}\n",
    ),
    # Read from $fpath the file is the body of the function; after `source` it only has to be registered.
    "zsh": (
        'if [ "$funcstack[1]" = "_vaultmem" ]; then _vaultmem "$@"; else compdef _vaultmem vaultmem; fi\n',
        "alias {alias}={program}\ncompdef _vaultmem vaultmem {alias}\n",
    ),
    "fish": ("", "alias {alias} {program}\ncomplete -c {alias} -w vaultmem\n"),
}


def run(args: Namespace, output: Output) -> int:
    """Print the script."""
    alias = args.alias or ""
    if alias and not _NAME.fullmatch(alias):
        raise UsageError(f"{alias!r} cannot be the name of a command")
    summaries = {name: one.summary for name, one in commands().items() if not one.upkeep}
    summaries["maintain"] = "one step of the upkeep"
    options = {name: _options(name) for name in commands()}
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](summaries, options)
    # Quoted for the program, and once more as the value of the alias.
    program = shlex.quote(shlex.join(paths.program()))
    output.script(made + _ENDS[args.shell][bool(alias)].format(alias=alias, program=program))
    return 0


def _options(name: str) -> dict[str, str]:
    """The long options of a command, each with the values it knows, in words with blanks between them."""
    formats = _words(("text", "json", *resolve(declared(name).formats)))
    options = {"--help": "", "--vault": "", "--format": formats, "--json": ""}
    for param in declared(name).of(COMMAND):
        if not param.place:
            known = param.choices or param.known
            options[param.long] = "" if param.kind == "repeated" else _words(resolve(known))
            options |= {f"--no-{param.long[2:]}": ""} if param.kind == "switch" else {}
    return dict(sorted(options.items()))


def _words(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def _actions() -> dict[tuple[str, str], str]:
    """What may follow a word of a command, beside the values of options."""
    from vaultmem.agent.jobs import JOBS

    chosen = {
        (name, name): _words(resolve(param.choices))
        for name, one in commands().items()
        for param in one.of(COMMAND)
        if param.place and param.choices
    }
    return {
        **chosen,
        ("maintain", "maintain"): _words(name for name, one in commands().items() if one.upkeep),
        ("jobs", "jobs"): "run",
        ("jobs", "run"): _words(JOBS),
    }


def _values(options: Options) -> dict[tuple[str, str], str]:
    """All words that are known to follow a word of a command."""
    known = {
        (name, option): words
        for name, own in options.items()
        for option, words in own.items()
        if words
    }
    return {**_actions(), **known}


def _cases(form: str, values: Mapping[tuple[str, str], str]) -> str:
    return "\n".join(form.format(name, word, words) for (name, word), words in values.items())


def _bash(summaries: dict[str, str], options: Options) -> str:
    form = '        {}:{}) COMPREPLY=($(compgen -W "{}" -- "$current")); return ;;'
    words = "\n".join(f'        {name}) words="{_words(own)}" ;;' for name, own in options.items())
    return f"""\
_vaultmem() {{
    local words current=${{COMP_WORDS[COMP_CWORD]}}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{_words(summaries)}" -- "$current")); return
    fi
    local command=${{COMP_WORDS[1]}}
    [ "$command" = maintain ] && [ "$COMP_CWORD" -gt 2 ] && command=${{COMP_WORDS[2]}}
    case $command:${{COMP_WORDS[COMP_CWORD-1]}} in
        *:--vault) COMPREPLY=($(compgen -d -- "$current")); return ;;
{_cases(form, _values(options))}
    esac
    case $command in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
"""


def _zsh(summaries: dict[str, str], options: Options) -> str:
    listed = "\n".join(
        f"        '{name}:{summary.replace(chr(39), '')}'" for name, summary in summaries.items()
    )
    words = "\n".join(
        f"        {name}) compadd -- {_words(own)} ;;" for name, own in options.items()
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
        *:--vault) _files -/; return ;;
{_cases("        {}:{}) compadd -- {}; return ;;", _values(options))}
    esac
    case $command in
{words}
    esac
}}
"""


def _fish(summaries: dict[str, str], options: Options) -> str:
    lines = ["complete -c vaultmem -f"]
    for name, summary in summaries.items():
        lines.append(f'complete -c vaultmem -n __fish_use_subcommand -a {name} -d "{summary}"')
    after = "complete -c vaultmem -n '__fish_seen_subcommand_from"
    for name, own in options.items():
        for option, words in own.items():
            extra = f" -r -a '{words}'" if words else " -r -F" if option == "--vault" else ""
            lines.append(f"{after} {name}' -l {option[2:]}{extra}")
    actions: dict[str, list[str]] = {}
    for (name, _), words in _actions().items():
        actions.setdefault(name, []).append(words)
    lines += [f"{after} {name}' -a '{' '.join(words)}'" for name, words in actions.items()]
    return "\n".join(lines) + "\n"
