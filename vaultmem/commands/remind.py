"""vaultmem remind: set a reminder."""

from __future__ import annotations

from vaultmem.commands.memories import (
    say_done,
    show_report,
    vault_of,
)
from vaultmem.commands.write import say_secrets, text_or_stdin
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace, output: Output) -> int:
    """Set it, and say for when."""
    content = text_or_stdin(args.content, output)
    with vault_of(args, output) as vault:
        said = vault.remind(
            content, at=args.at, repeat=args.repeat, tags=args.tags, scope=args.scope, project=args.project,
            agent=args.agent, by=args.by, dry_run=args.dry_run,
        )  # fmt: skip
    if args.dry_run and "changes" in said:
        show_report(said, output)
    elif output.as_json or said["created"]:
        when = str(said["remind"]).replace("T", " ")
        often = f", {said['repeat']} (“{said['understood']}”)" if said.get("repeat") else ""
        say_done(f"reminds on {when}{often}", said, output)
    else:
        output.remark("vaultmem: this reminder is there already")
    if not output.as_json:
        say_secrets(said, output)
    return 0
