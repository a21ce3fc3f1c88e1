"""vaultmem connect: put our start-up hook into the settings of a harness, or take it out; nothing else changes."""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex

from vaultmem import paths
from vaultmem.commands.memories import dry_run_option, show_diff
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.errors import VaultmemError
from vaultmem.harnesses import hooks, instructions, settings_file, skill
from vaultmem.harnesses.table import HARNESSES, Harness
from vaultmem.output import Output, json_text

if TYPE_CHECKING:
    import argparse

    from vaultmem.harnesses.settings_file import Edited

EPILOG = """\
claude   ~/.claude/settings.json          ~/.claude/skills/vaultmem/    (CLAUDE_CONFIG_DIR)
codex    ~/.codex/hooks.json              ~/.agents/skills/vaultmem/    (CODEX_HOME, of the hook)
gemini   ~/.gemini/settings.json          ~/.gemini/skills/vaultmem/
copilot  ~/.copilot/hooks/vaultmem.json   ~/.copilot/skills/vaultmem/   (COPILOT_HOME)
cursor   ~/.cursor/hooks.json             ~/.cursor/skills/vaultmem/
The hook tells every session what it should know, the skill how to recall and to write. Every other byte of the file
stays as it is. A file that cannot be edited safely, such as one with comments, is left alone, and the lines to add are
shown; a skill that you have changed is left alone, too. --instructions FILE puts one marked line into AGENTS.md or
CLAUDE.md instead, for assistants without hooks."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("harness", choices=tuple(HARNESSES), help="the program")
    parser.add_argument("--remove", action="store_true", help="take it out again")
    parser.add_argument(
        "--instructions",
        metavar="FILE",
        help="a line in this file of instructions, instead of the hook",
    )
    dry_run_option(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Edit the file, or show what would be edited."""
    vault = paths.check_vault(args.vault) if args.vault else ""
    harness = HARNESSES[args.harness]
    if args.instructions:
        _say(_instruct(args, vault), None, harness, args, output)
        return 0
    edited = _hook(harness, args, shlex.join(_command(harness.name, vault)))
    _say(edited, _skill(harness, args, vault, output), harness, args, output)
    return 0


def _command(name: str, vault: str) -> list[str]:
    named = ["--vault", vault] if vault else []
    return [*paths.program(), "hook", "session-start", "--harness", name, *named]


def _instruct(args: argparse.Namespace, vault: str) -> Edited:
    path = os.path.abspath(os.path.expanduser(args.instructions))
    if args.remove:
        return _uninstruct(path, dry_run=args.dry_run)
    line = instructions.line_of(
        args.harness, shlex.join(paths.program()), shlex.quote(vault) if vault else ""
    )
    if not os.path.lexists(path):
        line = instructions.made(line)
    return settings_file.edit(
        path, lambda text: instructions.instructed(text, line), dry_run=args.dry_run
    )


def _uninstruct(path: str, *, dry_run: bool) -> Edited:
    """Without the line; a file that was made for it and holds nothing else goes with it."""
    was_made = False

    def change(text: str) -> str:
        nonlocal was_made
        was_made = instructions.is_made(text)
        left = instructions.uninstructed(text)
        return left if left.strip() or not was_made else ""

    found = settings_file.edit(path, change, dry_run=True)
    if dry_run or found.before == found.after:
        return found
    return settings_file.edit(path, change, spare=not was_made)


def _hook(harness: Harness, args: argparse.Namespace, command: str) -> Edited:
    path = harness.path()
    put = hooks.filled if os.path.exists(path) else hooks.connected

    def change(text: str) -> str:
        return (hooks.connected if text else put)(text, harness, command)

    try:
        if args.remove:
            return _unhook(path, harness, dry_run=args.dry_run)
        return settings_file.edit(path, change, dry_run=args.dry_run)
    except ValueError as error:
        raise VaultmemError(_by_hand(path, harness, args, command, str(error))) from error


def _unhook(path: str, harness: Harness, *, dry_run: bool) -> Edited:
    """Without the hook; a file that was made for it and holds nothing else goes with it."""
    was_made = False

    def change(text: str) -> str:
        nonlocal was_made
        was_made = hooks.is_made(text, harness)
        return hooks.disconnected(text, harness)

    found = settings_file.edit(path, change, dry_run=True)
    if dry_run or found.before == found.after:
        return found
    return settings_file.edit(path, change, spare=not was_made)


def _skill(harness: Harness, args: argparse.Namespace, vault: str, output: Output) -> Edited | None:
    """The skill beside the hook. Somebody else's of that name stays, and one that the person has changed."""
    path = skill.path_of(harness)
    text = skill.text_of(harness, shlex.join(paths.program()), shlex.quote(vault) if vault else "")
    change = skill.uninstalled if args.remove else lambda before: skill.installed(before, text)
    try:
        edited = settings_file.edit(path, change, dry_run=args.dry_run, spare=False)
    except VaultmemError as error:
        output.remark(f"vaultmem: the skill {path}: {error}")
        return None
    if args.remove and not args.dry_run and edited.before != edited.after:
        _remove_empty(os.path.dirname(path), 3 if harness.skills else 2)
    return edited


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
    edited: Edited, added: Edited | None, harness: Harness, args: argparse.Namespace, output: Output
) -> None:  # fmt: skip
    if output.as_json:
        told = {
            "harness": harness.name,
            **_told(edited),
            "removed": args.remove,
            "dry_run": args.dry_run,
        }
        output.data({**told, **({"skill": _told(added)} if added else {})})
        return
    _say_one("line" if args.instructions else "hook", edited, harness, args, output)
    if added is not None:
        _say_one("skill", added, harness, args, output)
    if args.remove or args.instructions:
        return
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
