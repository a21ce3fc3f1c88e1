"""vaultmem completion: a completion script for the shell, made from the parsers themselves."""

from __future__ import annotations

from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
bash:  vaultmem completion bash > ~/.local/share/bash-completion/completions/vaultmem
zsh:   vaultmem completion zsh > ~/.zfunc/_vaultmem    (with fpath+=~/.zfunc before compinit)
fish:  vaultmem completion fish > ~/.config/fish/completions/vaultmem.fish"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(args: argparse.Namespace, output: Output) -> int:
    """Print the script."""
    from vaultmem.commands.table import COMMANDS

    options = {name: _options(name) for name in COMMANDS}
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](COMMANDS, options)
    output.script(made)
    return 0


def _options(name: str) -> list[str]:
    from vaultmem.commands.parsing import parser

    return sorted(
        option
        for action in parser(name)._actions  # noqa: SLF001 - argparse has no public list of its options
        for option in action.option_strings
        if option.startswith("--")
    )


def _bash(commands: dict[str, str], options: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'        {name}) words="{" ".join(given)}" ;;' for name, given in options.items()
    )
    return f"""\
_vaultmem() {{
    local words current=${{COMP_WORDS[COMP_CWORD]}}
    case ${{COMP_WORDS[COMP_CWORD-1]}} in
        --vault) COMPREPLY=($(compgen -d -- "$current")); return ;;
        --format) COMPREPLY=($(compgen -W "auto text json" -- "$current")); return ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(commands)}" -- "$current")); return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _vaultmem vaultmem
"""


def _zsh(commands: dict[str, str], options: dict[str, list[str]]) -> str:
    listed = "\n".join(
        f"        '{name}:{summary.replace(chr(39), '')}'" for name, summary in commands.items()
    )
    cases = "\n".join(
        f"        {name}) compadd -- {' '.join(given)} ;;" for name, given in options.items()
    )
    return f"""\
#compdef vaultmem
_vaultmem() {{
    local -a commands=(
{listed}
    )
    if (( CURRENT == 2 )); then _describe command commands; return; fi
    case $words[CURRENT-1] in
        --vault) _files -/; return ;;
        --format) compadd auto text json; return ;;
    esac
    case $words[2] in
{cases}
    esac
}}
_vaultmem "$@"
"""


def _fish(commands: dict[str, str], options: dict[str, list[str]]) -> str:
    lines = ["complete -c vaultmem -f"]
    for name, summary in commands.items():
        lines.append(f'complete -c vaultmem -n __fish_use_subcommand -a {name} -d "{summary}"')
        for option in options[name]:
            extra = (
                " -r -a 'auto text json'"
                if option == "--format"
                else " -r -F"
                if option == "--vault"
                else ""
            )
            lines.append(
                f"complete -c vaultmem -n '__fish_seen_subcommand_from {name}' -l {option[2:]}{extra}"
            )
    return "\n".join(lines) + "\n"
