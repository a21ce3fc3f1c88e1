"""The command line: asks the sync agent, or runs the one command that is asked for; errors to exit codes."""

from __future__ import annotations

import os
import sys

from vaultmem import __version__
from vaultmem.commands.table import ASKED_OF_AGENT, COMMANDS

__all__ = ["COMMANDS", "entry", "main", "usage"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_ENDING = """
The vault is --vault FOLDER, else VAULTMEM_VAULT, else the vault at or above the working directory, else
`vault` in the settings. `vaultmem COMMAND --help` tells more about a command.
"""

_INTERRUPTED = "interrupted; what was done so far is kept, the same command goes on from there"


def usage() -> str:
    """The text of `vaultmem --help`."""
    lines = [
        "usage: vaultmem COMMAND [...]", "",
        "The memory that people and their AI agents keep for life, in their own notes.", "", "commands:",
    ]  # fmt: skip
    lines += [f"  {name:<13} {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(lines) + "\n" + _ENDING


def entry() -> NoReturn:
    """What the script `vaultmem` calls: main(), and then out by the shortest way, for both streams are flushed. To take
    Python down costs as much as a question does, and tears threads out of a model's C++, which aborts the process."""
    os._exit(main())


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit code is 0 done, 1 failed, 2 wrongly typed, 130 interrupted."""
    words = sys.argv[1:] if argv is None else argv
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115 (for as long as we run)
    try:
        code = _run(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Point stdout elsewhere, or Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk behind stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"vaultmem: the answer cannot be written: {_spoken(error)}\n")
        return 1
    return code


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return 0
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"vaultmem {__version__}\n")
        return 0
    if words[0] not in COMMANDS:
        said = f"unknown command {words[0]!r}{_nearest(words[0])}; see vaultmem --help"
        return _fail(words, said, 2)
    if words[0] in ASKED_OF_AGENT:
        code = _ask_agent(words[0], words[1:])
        if code is not None:
            return code
    short = {"agent": _hand_on, "mcp": _relay}.get(words[0])
    if short and (code := short(words[1:])) is not None:
        return code
    return _run_command(words[0], words[1:])


def _relay(words: list[str]) -> int | None:
    """Serve an assistant without argparse, where no option needs it."""
    from vaultmem.commands import mcp
    from vaultmem.errors import VaultmemError

    if not mcp.takes(words):
        return None
    try:
        return mcp.serve(words)
    except VaultmemError as error:
        sys.stderr.write(f"vaultmem: {' '.join(str(error).split())}\n")
        return error.exit_code


def _hand_on(words: list[str]) -> int | None:
    """Have the sync agent call the tools, where one runs."""
    from vaultmem.commands.handed import hand_on
    from vaultmem.errors import VaultmemError

    try:
        return hand_on(words)
    except KeyboardInterrupt:
        return _fail(words, _INTERRUPTED, 130)
    except VaultmemError as error:
        return _fail(words, str(error), error.exit_code)


def _ask_agent(name: str, words: list[str]) -> int | None:
    from vaultmem.client import ask_agent

    try:
        return ask_agent(name, words)
    except KeyboardInterrupt:
        return _fail(words, _INTERRUPTED, 130)


def _fail(words: list[str], said: str, code: int) -> int:
    """Say what went wrong in the format that was asked for; the exit code."""
    from vaultmem.commands.parsing import asked_format
    from vaultmem.output import Output

    Output(asked_format(words)).error(said)
    return code


def _run_command(name: str, words: list[str]) -> int:
    from vaultmem.commands.parsing import asked_format, module_of, parser, prepared
    from vaultmem.errors import UsageError, VaultmemError
    from vaultmem.output import Output

    output, reader = Output(asked_format(words)), parser(name)
    try:
        args = reader.parse_args(prepared(name, words))
        output = Output(args.format)
        code = int(module_of(name).run(args, output))
        sys.stdout.flush()
    except VaultmemError as error:
        output.error(reader.spelled(str(error)))
        refused = getattr(module_of(name), "refused", None)  # whoever calls it may not bear a code
        if refused is not None and isinstance(error, UsageError):
            return int(refused(output))
        return error.exit_code
    except KeyboardInterrupt:
        output.error(_INTERRUPTED)
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:  # the border to the user, who must never see a traceback
        if os.environ.get("VAULTMEM_DEBUG"):
            raise
        output.error(
            f"{_spoken(error)}; vaultmem doctor may know more, VAULTMEM_DEBUG=1 shows where"
        )
        return 1
    return code


def _spoken(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    return f"{type(error).__name__} {error}".strip()


def _nearest(word: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(word, COMMANDS, 1)
    return f" (did you mean {found[0]}?)" if found else ""


if __name__ == "__main__":
    entry()
