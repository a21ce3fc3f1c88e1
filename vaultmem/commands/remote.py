"""A command carried out in the agent for a caller elsewhere: words in, the finished texts of both streams out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from vaultmem import __version__
from vaultmem.agent.host import Host
from vaultmem.api.rpc import UNKNOWN_METHOD, WRONG_PARAMS, Request, RequestError
from vaultmem.commands.parsing import Parser, from_params, parse, parser, run
from vaultmem.errors import StateError, UsageError, VaultmemError
from vaultmem.output import Captured, Output, Streams

Params = dict[str, object]


class Command:
    """A reading command: its parser is built when it is first asked for, and kept."""

    def __init__(self, host: Host, name: str) -> None:
        self.name = name
        self._host = host
        self._parser: Parser | None = None

    @property
    def parser(self) -> Parser:
        """Two threads may build it twice; reading words with it changes nothing in it."""
        if self._parser is None:
            self._parser = parser(self.name, add_help=False)
        return self._parser

    def answer(self, request: Request) -> object:
        """What the command prints as JSON, for options by their long names."""
        output = Captured()
        self.run(from_params(self.name, request.params), output)
        return output.value

    def run(self, args: argparse.Namespace, output: Output) -> int:
        """Run it on the open vault."""
        with self._host.vault() as vault:
            args.vault = vault
            return run(self.name, args, output)


def run_words(host: Host, commands: Mapping[str, Command], params: Params) -> object:
    """The method `run`: carry out words of a command line into texts. What the agent cannot do exactly as the
    caller's own process would is handed back: wrong words (they may ask for help), other settings."""
    command = commands.get(text(params, "command"))
    if command is None:
        raise _ask_yourself("not a command that only reads")
    if params.get("version") != __version__:
        raise _ask_yourself(f"the agent is vaultmem {__version__}")
    if params.get("environ") != host.settings_signature():
        raise _ask_yourself("the agent has other settings in its environment")
    words = _words(params)
    try:
        args = parse(command.name, words, command.parser)
        _check_own(host, args, text(params, "cwd"))
        given = params.get("given")
        args.caller = text(params, "cwd"), given if isinstance(given, str) else ""
        said = _Said()
        return said.reply(_carry_out(command, args, said.output(params, args.format)), params)
    except UsageError as error:
        raise _ask_yourself(str(error)) from error


def _carry_out(command: Command, args: argparse.Namespace, output: Output) -> int:
    try:
        return command.run(args, output)
    except (UsageError, StateError):  # the caller may do better, and says it better
        raise
    except VaultmemError as error:
        output.error(str(error))
        return error.exit_code


def _check_own(host: Host, args: argparse.Namespace, cwd: str) -> None:
    if getattr(args, "open", False) or getattr(args, "batch", False):
        raise _ask_yourself("the caller's own process is needed")
    if args.vault:
        named = os.path.join(cwd, os.path.expanduser(args.vault))
        if "\0" in named or os.path.realpath(named) != os.path.realpath(host.folder):
            raise _ask_yourself("the agent has another vault")


def _ask_yourself(why: str) -> RequestError:
    return RequestError(UNKNOWN_METHOD, f"ask yourself: {why}")


def text(params: Params, name: str) -> str:
    """A parameter that must be text."""
    found = params.get(name)
    if not isinstance(found, str):
        raise RequestError(WRONG_PARAMS, f'"{name}" must be text')
    return found


def _words(params: Params) -> list[str]:
    words = params.get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise RequestError(WRONG_PARAMS, '"words" must be a list of texts')
    return list(words)


class _Said:
    """What a command says on both streams, and in which order."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"out": [], "err": []}
        self._turns: list[tuple[str, int]] = []

    def add(self, stream: str, text: str) -> None:
        """One of the streams says something."""
        self._texts[stream].append(text)
        if not self._turns or self._turns[-1][0] != stream:
            self._turns.append((stream, 0))
        self._turns[-1] = (stream, self._turns[-1][1] + len(text))

    def output(self, params: Params, wanted: str) -> Output:
        """An Output that ends here, for the terminal of the caller."""
        terminal, colour = params.get("terminal") is True, params.get("colour") is True
        if wanted == "auto":
            wanted = "text" if params.get("format") == "text" else "json"
        return Output(wanted, Streams(_Stream(self, "out"), _Stream(self, "err"), terminal, colour))

    def reply(self, code: int, params: Params) -> Params:
        """The result of `run`."""
        found: Params = {
            "code": code,
            **{name: "".join(texts) for name, texts in self._texts.items()},
        }
        return {**found, "turns": self._turns} if params.get("terminal") is True else found


class _Stream:
    """One of the streams of a command, as Output writes to it."""

    encoding = "utf-8"

    def __init__(self, said: _Said, name: str) -> None:
        self._said, self._name = said, name

    def write(self, text: str, /) -> int:
        """Keep the text, and the turn."""
        self._said.add(self._name, text)
        return len(text)

    def flush(self) -> None:
        """Nothing: all is handed over in the end."""
