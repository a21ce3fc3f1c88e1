"""vaultmem hook: what the start-up hook of a harness reads. Whatever fails, it gets its JSON, and starts."""

from __future__ import annotations

import os
import sys

from vaultmem import client, paths
from vaultmem.api import Vault
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import StateError, VaultNotFoundError
from vaultmem.harnesses.context import context
from vaultmem.harnesses.table import HARNESSES, answer
from vaultmem.output import Output, json_text

if TYPE_CHECKING:
    import argparse

MOST = 10_000  # characters on stdout
_MOST_GIVEN = 65_536  # bytes of what the harness says on stdin
EPILOG = """\
For harnesses; vaultmem connect installs it. It prints the JSON that the harness reads and nothing else: your
preferences, what is overdue or due within a week, with --prompt also memories that fit it. Notes from the web and
memories still in the inbox are left out. When anything fails, the context is empty and the exit code is 0. It never
indexes; without the sync agent it tells what the last sync knew."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("event", choices=("session-start",), help="what has happened")
    parser.add_argument(
        "--harness", choices=tuple(HARNESSES), required=True, help="who reads the answer"
    )
    parser.add_argument("--prompt", metavar="TEXT", default="", help="what the session is about")


def run(args: argparse.Namespace, output: Output) -> int:
    """Print it."""
    in_agent = isinstance(args.vault, Vault)
    text = ""
    try:
        if not in_agent and (elsewhere := _by_agent_elsewhere(args)) is not None:
            return elsewhere
        text = _text(args, output)
    except Exception as error:  # the harness is to start whatever happens here
        if in_agent:
            raise StateError("the process that asks does it itself") from error
        said = " ".join(f"{error}".split()) or type(error).__name__
        output.remark(f"vaultmem: {said}")
    told = answer(args.harness, text)
    while len(json_text(told, 2)) > MOST:  # characters that JSON writes as several
        text = text[: len(text) * 3 // 4]
        told = answer(args.harness, text)
    output.data(told)
    return 0


def _text(args: argparse.Namespace, output: Output) -> str:
    given = args.vault
    vault = given if isinstance(given, Vault) else Vault(given)
    with vault:
        known = context(vault, args.harness, args.prompt)
    if known.troubles:
        output.remark(f"vaultmem: {'; '.join(known.troubles)}")
    return known.text


def _by_agent_elsewhere(args: argparse.Namespace) -> int | None:
    """Where no vault is named, set or above the working directory, the one that the harness speaks of; if an agent
    answers for it, all is done."""
    if args.vault:
        return None
    try:
        paths.choose_vault(None, _configured())
    except VaultNotFoundError:
        found = _spoken_of(_given())
        if found is None:
            raise
        args.vault = found
        prompt = ["--prompt", args.prompt] if args.prompt else []
        words = [args.event, "--harness", args.harness, *prompt, "--vault", found]
        return client.ask_agent("hook", [*words, "--format", args.format])
    return None


def _configured() -> str:
    from vaultmem import config

    return config.load(None).text("vault")


def _spoken_of(given: object) -> str | None:
    """The vault at or above one of the folders that the harness names."""
    if not isinstance(given, dict):
        return None
    roots = given.get("workspace_roots")
    for folder in [given.get("cwd"), *(roots if isinstance(roots, list) else [])]:
        named = isinstance(folder, str) and os.path.isabs(folder) and "\0" not in folder
        if named and (found := paths.find_vault(folder)):
            return found
    return None


def _given() -> object:
    """What the harness has said on stdin until now; nobody waits for it."""
    import json
    import select

    try:
        number = sys.stdin.fileno()
        if os.isatty(number) or not select.select([number], [], [], 0)[0]:
            return None
        return json.loads(os.read(number, _MOST_GIVEN))
    except (OSError, ValueError, RecursionError):
        return None
