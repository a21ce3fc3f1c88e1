"""vaultmem list: memories, the newest first."""

from __future__ import annotations

from vaultmem.commands.memories import count_of, listed, short, vault_of
from vaultmem.commands.shared import check_limit, viewer_option
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

EPILOG = """\
Being listed does not count as being read. --min-confidence is 0 here: a list shows what has faded, too."""
_FIELDS = ("phase", "category", "scope", "source", "agent", "personality", "project", "type")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    for name in _FIELDS:
        parser.add_argument(f"--{name}", help=f"memories with this {name}")
    parser.add_argument(
        "--global", dest="everywhere", action="store_true", help="memories marked as global"
    )
    parser.add_argument("--tags", metavar="T1,T2", help="memories that have all these tags")
    parser.add_argument(
        "--from",
        dest="since",
        metavar="DAY",
        help="written on this day or later, such as 2026-11-22 or yesterday",
    )
    parser.add_argument("--to", dest="until", metavar="DAY", help="written on this day or earlier")
    parser.add_argument("-n", "--limit", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--min-confidence", type=float, default=0.0, help="leave out faded ones")
    parser.add_argument("--deleted", action="store_true", help="what is in the archive, instead")
    parser.add_argument(
        "--include-compressed", action="store_true", help="also what a summary stands for"
    )
    viewer_option(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """List them."""
    check_limit(args.limit)
    with vault_of(args, output) as vault:
        found = vault.memories(
            everywhere=args.everywhere, tags=listed(args.tags), since=args.since, until=args.until,
            min_confidence=args.min_confidence, limit=args.limit, deleted=args.deleted,
            include_compressed=args.include_compressed, by=args.by,
            **{name: getattr(args, name) for name in _FIELDS},
        )  # fmt: skip
    if output.as_json:
        output.data({"memories": found, "count": len(found)})
        return 0
    output.remark(f"vaultmem: {count_of(len(found))}{' in the archive' if args.deleted else ''}")
    rows = [
        (
            short(one["id"]), one["created_at"][:10], one["category"],
            " ".join([one["title"], *(f"#{tag}" for tag in one["tags"]), *_attribution(one)]),
        )
        for one in found
    ]  # fmt: skip
    for row in table(rows):
        output.line(output.paint(row[:8], "yellow") + row[8:])
    return 0


def _attribution(memory: Mapping[str, object]) -> list[str]:
    """Whose words they are, where nobody has approved them."""
    return [f"({memory['attribution']})"] if "attribution" in memory else []
