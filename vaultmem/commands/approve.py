"""vaultmem approve: let assistants be told of what an assistant wrote or what came from elsewhere."""

from __future__ import annotations

from vaultmem.commands.memories import place, vault_of
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse

EPILOG = """\
What came from elsewhere or from a client without a name is told by a recall only when you have approved it, and so is
what other assistants wrote where recall.trust is own. Approved words count as yours: hooks tell them. So does ticking
them in pending.md. See them first: vaultmem list --agent NAME, vaultmem list --source NAME.

A fact that a conversation learned about you becomes a memory when you approve it by its id; vaultmem undo takes that
back."""


def run(args: argparse.Namespace, output: Output) -> int:
    """Approve, and say what."""
    with vault_of(args, output) as vault:
        report = vault.approve(
            args.id or None, agent=args.agent, source=args.source, undo=args.undo, dry_run=args.dry_run
        )  # fmt: skip
    if output.as_json:
        output.data(report)
        return 0
    for memory in report["memories"]:
        output.line(place(memory, output))
    said = "no longer approved" if args.undo else "approved"
    said = f"would be {said}" if args.dry_run else said
    many = plural(len(report["memories"]), "memory", "memories")
    output.remark(
        f"vaultmem: {said}: {many}" if report["memories"] else "vaultmem: nothing to approve"
    )
    return 0
