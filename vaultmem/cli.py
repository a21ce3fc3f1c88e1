"""The command line: runs a command in the agent or in this process, and turns errors into exit codes."""

from __future__ import annotations

import os
import sys

from vaultmem import __version__
from vaultmem.api.verbs import (
    COMMAND,
    GROUPS,
    LOOK_AFTER,
    commands,
    every,
    own,
    resolve_command,
    verb,
)

__all__ = ["entry", "main", "usage"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace as Namespace
    from typing import NoReturn

    from vaultmem.api.verbs import Verb
    from vaultmem.output import Output

_ENDING = """
The vault is --vault FOLDER, else VAULTMEM_VAULT, else the vault at or above the working directory,
else `vault` in the settings. `vaultmem COMMAND --help` describes a command.
"""
_MORE = (
    "\n`vaultmem help all` lists all commands, `vaultmem help man | man -l -` shows all options.\n"
)
_HELP = ("-h", "--help", "help")
_UPKEEP, _COMPLETE = "maintain", "complete"  # shells call the second for completion
_INTERRUPTED = "interrupted; progress is saved, run the command again to resume"


def usage(*, everything: bool) -> str:
    """The text of `vaultmem --help`: the most important commands, or all of them, in groups."""
    lines = [
        "usage: vaultmem COMMAND [...]", "",
        "The memory that you and your AI assistants share, in your own notes.",
    ]  # fmt: skip
    listed = [
        (name, declared)
        for name, declared in sorted(every().items(), key=lambda pair: not pair[1].first)
        if declared.first or (everything and not declared.upkeep)
    ]
    for group in GROUPS:
        rows = {
            name: declared.summary for name, declared in listed if group and declared.group == group
        }
        lines += ["", f"{group}:", *_rows(rows)] if rows else []
        if group == LOOK_AFTER and everything:
            lines += _rows({_UPKEEP: f"run one step of maintenance: {', '.join(upkeep())}"})
    text = "\n".join(lines) + "\n" + ("" if everything else _MORE) + _ENDING
    return _fold(text)


def upkeep() -> dict[str, str]:
    """The summaries of the commands under `vaultmem maintain`, by name."""
    return {name: declared.summary for name, declared in own().items() if declared.upkeep}


def _rows(summaries: dict[str, str]) -> list[str]:
    return [_fold(f"  {name:<13}  {summary}") for name, summary in summaries.items()]


def _fold(text: str) -> str:
    """A help text wrapped to the width of the terminal, or to COLUMNS."""
    from vaultmem import screen

    if not (os.environ.get("COLUMNS") or sys.stdout.isatty()):
        return text
    width = screen.size(sys.stdout)[0]
    return "\n".join(screen.fold(line, width) for line in text.split("\n"))


def entry() -> NoReturn:
    """The entry point of the script `vaultmem`: runs main(), flushes both streams and exits at once. Python's own
    shutdown takes as long as a query, and interrupts a model's C++ threads, which aborts the process."""
    import gc

    from vaultmem.light import GARBAGE

    gc.set_threshold(*GARBAGE)
    os._exit(main())


def main(argv: list[str] | None = None) -> int:
    """Run a command. Returns the exit code: 0 success, 1 failure, 2 wrong usage, 130 interrupted."""
    words = sys.argv[1:] if argv is None else argv
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 (for as long as we run)
    try:
        code = _run(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe. Redirect stdout, or Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:  # while a module was loaded
        sys.stderr.write("vaultmem: interrupted\n")
        return 130
    except OSError as error:  # stdout is on a full disk, perhaps stderr, too
        from contextlib import suppress

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        with suppress(OSError):
            sys.stderr.write(f"vaultmem: the answer cannot be written: {_message(error)}\n")
        return 1
    return code


def _run(words: list[str]) -> int:
    if not words or words[0] in _HELP:
        return _help(words[1:2])
    if words[0] in ("-V", "--version"):
        return _version(as_json="--json" in words)
    if words[0] == _COMPLETE and words[1:]:
        from vaultmem.client import put
        from vaultmem.commands.completion import answer

        put(sys.stdout, answer(words[1:]))
        return 0
    if words[0] == _UPKEEP:
        if words[1:2] in ([], ["-h"], ["--help"]):
            rows = "\n".join(_rows(upkeep()))
            sys.stdout.write(f"usage: vaultmem {_UPKEEP} COMMAND [...]\n\n{rows}\n")
            return 0
        if words[1] not in upkeep():
            return _fail(
                words, f"unknown command {' '.join(words[:2])!r}; see vaultmem maintain", 2
            )
        words = words[1:]
    return _command(words[0], words[1:])


def _command(name: str, words: list[str]) -> int:
    """Run a command: in the agent, if one runs and supports it, else in this process. Returns the exit code."""
    declared = verb(name)
    if name.startswith("-"):
        message = f"options follow the command: vaultmem COMMAND {name} …; see vaultmem help"
        return _fail([name, *words], message, 2)
    if declared is None or not declared.group:
        from vaultmem.text.values import did_you_mean

        meanings = (known for known in commands() if name in _meanings(every()[known]))
        meant = did_you_mean(next(meanings, name), [*commands(), "--version"])
        message = f"unknown command {name!r}{meant}; see vaultmem help all"
        return _fail([name, *words], message, 2)
    has_short_way = declared.agent or name in ("agent", "mcp")
    if has_short_way and (code := _short_way(name, words)) is not None:
        return code
    return _run_command(declared, name, words)


def _meanings(declared: Verb) -> tuple[str, str]:
    """What a command may also be called: forget is delete, from its summary, and remember is write, from its group."""
    return declared.summary.partition(" ")[0], declared.group.lower()


def _help(about: list[str]) -> int:
    """`vaultmem help`, `help all`, `help man`, `help COMMAND`."""
    if about == ["man"]:
        from vaultmem.commands.manual import page

        sys.stdout.write(page())
        return 0
    if about and about[0] not in ("all", *_HELP):
        return _run([*about, "--help"])
    sys.stdout.write(usage(everything=about == ["all"]))
    return 0


def _version(*, as_json: bool) -> int:
    """`vaultmem --version`: the version of the program, and with --json also that of its JSON."""
    if as_json:
        from vaultmem.output import JSON_VERSION, Output

        Output("json").data({"vaultmem": __version__, "json": JSON_VERSION})
    else:
        sys.stdout.write(f"vaultmem {__version__}\n")
    return 0


def _short_way(name: str, words: list[str]) -> int | None:
    """Run a command without its parser. Returns the exit code; None if that is not possible."""
    from vaultmem.errors import VaultmemError

    try:
        if name == "mcp":
            from vaultmem.commands import mcp_server

            return mcp_server.serve(words) if mcp_server.needs_no_parser(words) else None
        if name == "agent":
            from vaultmem.commands.tool_calls import forward

            return forward(words)
        from vaultmem.client import ask_agent

        return ask_agent(name, words)
    except KeyboardInterrupt:
        return _fail(words, _INTERRUPTED, 130)
    except VaultmemError as error:
        return _fail(words, str(error), error.exit_code)


def _fail(words: list[str], message: str, code: int) -> int:
    """Print an error in the format that the arguments select. Returns the exit code."""
    from vaultmem.commands.parsing import requested_format
    from vaultmem.output import Output

    Output(requested_format(words)).error(message)
    return code


def _run_command(declared: Verb, name: str, words: list[str]) -> int:
    from vaultmem import now
    from vaultmem.client import is_terminal
    from vaultmem.commands.parsing import asks_for_help, parse, requested_format
    from vaultmem.errors import UsageError, VaultmemError
    from vaultmem.output import Output, OutputError, Paged

    if asks_for_help(words):
        from vaultmem.commands import manual

        sys.stdout.write(manual.of_command(name))
        return 0
    output = Output(requested_format(words))
    try:
        args = parse(name, words)
        is_paged = (
            (declared.agent or declared.pages)
            and is_terminal(sys.stdout)
            and "--batch" not in words
        )
        output = Paged(args.format) if is_paged else Output(args.format)
        now.check()
        code = _carry_out(declared, args, output)
        sys.stdout.flush()
    except VaultmemError as error:
        output.error(str(error))
        if declared.never_fails and isinstance(error, UsageError):
            output.data({})
            return 0
        return error.exit_code
    except KeyboardInterrupt:
        output.error(_INTERRUPTED if output.has_progress else "interrupted")
        return 130
    except (BrokenPipeError, OutputError):
        raise
    except Exception as error:  # a last resort: users must never see a traceback
        import errno  # counts as a module at every start

        sys.stdout.flush()  # if that is what failed, main() says so
        if os.environ.get("VAULTMEM_DEBUG"):
            raise
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "free some space" if full else "vaultmem doctor may explain it"
        output.error(f"{_message(error)}; {advice}, VAULTMEM_DEBUG=1 shows where")
        return 1
    finally:
        if isinstance(output, Paged):
            output.close()
    return code


def _carry_out(declared: Verb, args: Namespace, output: Output) -> int:
    """Run a command in this process. Returns the exit code."""
    from vaultmem.api.params import at_door
    from vaultmem.commands.rendering import params_and_stdin, progress_bar, show, vault_of

    with at_door(COMMAND):
        if declared.command:
            return int(resolve_command(declared.command)(args, output))
        with vault_of(args, output) as vault, progress_bar(output):
            answer = vault.ask(args.command, **params_and_stdin(args))
        show(answer, args, output)
    return 0


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    return f"{type(error).__name__} {error}".strip()


if __name__ == "__main__":
    entry()
