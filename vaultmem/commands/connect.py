"""vaultmem connect: put our start-up hook, skill and MCP server into the settings of a harness, or take them out;
nothing else changes."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import shlex
import sys

from vaultmem import paths
from vaultmem.assistants import context, hooks, servers
from vaultmem.assistants.programs import HARNESSES, Harness
from vaultmem.client import is_terminal
from vaultmem.commands.rendering import show_diff
from vaultmem.errors import VaultmemError
from vaultmem.output import Output, json_text
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vaultmem.assistants.hooks import Edited

    Part = Callable[[Harness, argparse.Namespace, str, Output], Edited | None]

_QUESTION = "Register the MCP server with {}, too, so that it can call the tools of memory? [Y/n] "


def run(args: argparse.Namespace, output: Output) -> int:
    """Edit the files, or show what would be edited."""
    vault = paths.check_vault(args.vault) if args.vault else ""
    harness = HARNESSES[args.harness]
    if args.instructions:
        _say({"line": _instruct(args, vault)}, harness, args, output)
        return 0
    wants_server = args.remove or _wants_server(harness, args, output)
    names = ["hook", "skill", *(["server"] if wants_server else [])]
    # What came last goes first: two of them may be in one file.
    order = reversed(names) if args.remove else names
    made = {name: _PARTS[name](harness, args, vault, output) for name in order}
    _say({name: made[name] for name in names}, harness, args, output)
    return 1 if wants_server and made["server"] is None else 0


def _wants_server(harness: Harness, args: argparse.Namespace, output: Output) -> bool:
    """Whether to register the MCP server. A person at a terminal is asked, but not again where the hook is there."""
    if args.mcp is not None:
        return bool(args.mcp)
    with contextlib.suppress(ValueError, VaultmemError):
        if servers.is_registered(hooks.read(harness.servers_path()), harness):
            return True  # to be renewed
    sits = is_terminal(sys.stdin) and is_terminal(sys.stdout) and not output.as_json
    if sits and not args.dry_run and not _is_connected(harness):
        output.prompt(_QUESTION.format(harness.title))
        return sys.stdin.readline().strip().lower() in ("", "y", "yes")
    return False


def _is_connected(harness: Harness) -> bool:
    """Whether our hook is there."""
    try:
        return hooks.tag(harness) in hooks.read(harness.path())
    except VaultmemError:
        return False


def _instruct(args: argparse.Namespace, vault: str) -> Edited:
    path = os.path.abspath(os.path.expanduser(args.instructions))
    if args.remove:
        return _uninstruct(path, dry_run=args.dry_run)
    line = context.line_of(
        args.harness, shlex.join(paths.program()), shlex.quote(vault) if vault else ""
    )
    if not os.path.lexists(path):
        line = context.made(line)
    return hooks.edit(path, lambda text: context.instructed(text, line), dry_run=args.dry_run)


def _uninstruct(path: str, *, dry_run: bool) -> Edited:
    """Without the line; a file that was made for it and holds nothing else goes with it."""
    was_made = False

    def change(text: str) -> str:
        nonlocal was_made
        was_made = context.is_made(text)
        left = context.uninstructed(text)
        return left if left.strip() or not was_made else ""

    found = hooks.edit(path, change, dry_run=True)
    if dry_run or found.before == found.after:
        return found
    return hooks.edit(path, change, spare=not was_made)


def _hook(harness: Harness, args: argparse.Namespace, vault: str, _output: Output) -> Edited:
    named = ["--vault", vault] if vault else []
    words = [*paths.program(), *hooks.tag(harness).split(), *named]
    path, command = harness.path(), shlex.join(words)
    if not harness.event:
        try:
            edited = _own(path, context.plugin_text(words), args)
        except VaultmemError as error:
            raise VaultmemError(f"the plugin {path}: {error}") from error
        _remove_empty(os.path.dirname(path), 1 if args.remove and not args.dry_run else 0)
        return edited
    put = hooks.filled if os.path.exists(path) else hooks.connected

    def change(text: str) -> str:
        return (hooks.connected if text else put)(text, harness, command)

    try:
        if args.remove:
            return _unhook(path, harness, dry_run=args.dry_run)
        return hooks.edit(path, change, dry_run=args.dry_run)
    except ValueError as error:
        raise VaultmemError(_by_hand(path, harness, args, command, str(error))) from error


def _unhook(path: str, harness: Harness, *, dry_run: bool) -> Edited:
    """Without the hook; a file that was made for it and holds nothing else goes with it."""
    was_made = False

    def change(text: str) -> str:
        nonlocal was_made
        was_made = hooks.is_made(text, harness)
        return hooks.disconnected(text, harness)

    found = hooks.edit(path, change, dry_run=True)
    if dry_run or found.before == found.after:
        return found
    return hooks.edit(path, change, spare=not was_made)


def _server(
    harness: Harness, args: argparse.Namespace, vault: str, output: Output
) -> Edited | None:
    """The MCP server. Settings that cannot be edited safely stay as they are, and the rest is done all the same."""
    path = harness.servers_path()
    command = [*paths.program(), "mcp", *(["--vault", vault] if vault else [])]

    def change(text: str) -> str:
        if args.remove:
            return servers.unregistered(text, harness)
        return servers.registered(text, harness, command)

    try:
        return hooks.edit(path, change, dry_run=args.dry_run, spare=False)
    except ValueError as error:
        lines = servers.registered("", harness, command)
        advice = (
            "Remove the server vaultmem by hand" if args.remove else f"Add this by hand:\n{lines}"
        )
        output.remark(f"vaultmem: {path} was left alone: {error}. {advice}")
    except VaultmemError as error:
        output.remark(f"vaultmem: {error}")
    return None


def _skill(harness: Harness, args: argparse.Namespace, vault: str, output: Output) -> Edited | None:
    """The skill beside the hook. Somebody else's of that name stays, and one that the person has changed."""
    path, former = context.path_of(harness), context.former_path_of(harness)
    text = context.skill_text(shlex.join(paths.program()), shlex.quote(vault) if vault else "")
    others = [
        one.title
        for one in HARNESSES.values()
        if one != harness and context.path_of(one) == path and _is_connected(one)
    ]
    try:
        if former != path and context.is_ours(hooks.read(former)):
            _own(former, "", args)
            _remove_empty(os.path.dirname(former), 0 if args.dry_run else 2)
        if args.remove and others:
            output.remark(f"vaultmem: the skill stays, for {', '.join(others)}: {path}")
            return None
        edited = _own(path, text, args)
    except VaultmemError as error:
        output.remark(f"vaultmem: the skill {path}: {error}")
        return None
    if args.remove:
        _remove_empty(os.path.dirname(path), 0 if args.dry_run else 2 if harness.own_skills else 3)
    elif others and edited.before not in ("", text):
        output.remark(f"vaultmem: the skill names this vault for {', '.join(others)}, too")
    return edited


def _own(path: str, text: str, args: argparse.Namespace) -> Edited:
    """A file that is all ours, written or removed."""
    wanted = "" if args.remove else text
    return hooks.edit(
        path, lambda before: context.installed(before, wanted), dry_run=args.dry_run, spare=False
    )


_PARTS: dict[str, Part] = {"hook": _hook, "skill": _skill, "server": _server}


def _remove_empty(folder: str, levels: int) -> None:
    with contextlib.suppress(OSError):  # there is more in it
        for _ in range(levels):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def _by_hand(
    path: str, harness: Harness, args: argparse.Namespace, command: str, why: str
) -> str:  # fmt: skip
    if args.remove:
        return f"{path} was left alone: {why}. Remove the hook by hand: its command has vaultmem hook session-start"
    lines = json_text({"hooks": {harness.event: [harness.entry(command)]}})
    return f"{path} was left alone: {why}. Add this by hand: {lines}"


def _say(
    made: Mapping[str, Edited | None], harness: Harness, args: argparse.Namespace, output: Output
) -> None:  # fmt: skip
    first, *more = [(name, edited) for name, edited in made.items() if edited is not None]
    if output.as_json:
        told = {
            "harness": harness.name,
            **_told(first[1]),
            "removed": args.remove,
            "dry_run": args.dry_run,
        }
        output.data({**told, **{name: _told(edited) for name, edited in more}})
        return
    for name, edited in (first, *more):
        _say_one("MCP server" if name == "server" else name, edited, harness, args, output)
    if args.remove or args.instructions:
        return
    if "server" not in made and args.mcp is None:
        output.remark("vaultmem: the MCP server is not registered; --mcp does that")
    if harness.advice:
        output.remark(f"vaultmem: {harness.advice}")
    if not args.vault and not _has_default():
        output.remark(
            "vaultmem: sessions that do not start inside a vault are told nothing: connect with --vault FOLDER, "
            f"or put vault: FOLDER into {paths.config_file()}"
        )


def _has_default() -> bool:
    """Whether a vault is found wherever a session starts."""
    from vaultmem import config

    return bool(config.load(None).text("vault"))


def _told(edited: Edited) -> dict[str, object]:
    return {"path": edited.path, "changed": edited.before != edited.after, "diff": _diff(edited)}


def _say_one(
    what: str, edited: Edited, harness: Harness, args: argparse.Namespace, output: Output
) -> None:  # fmt: skip
    if edited.before == edited.after:
        state = "not there" if args.remove else "there already"
        output.line(f"{harness.title}: the {what} is {state}: {edited.path}")
    elif args.dry_run:
        show_diff(_diff(edited), output)
    else:
        done = "is no longer in" if args.remove else "is in"
        output.line(f"{harness.title}: the {what} {done} {edited.path}")


def _diff(edited: Edited) -> str:
    lines = difflib.unified_diff(
        edited.before.splitlines(keepends=True), edited.after.splitlines(keepends=True), edited.path, edited.path
    )  # fmt: skip
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
