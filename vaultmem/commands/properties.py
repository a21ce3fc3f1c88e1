"""vaultmem set and unset: a property of a note."""

from __future__ import annotations

from vaultmem.commands.memories import show_report, vault_of
from vaultmem.output import Output, json_text
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from vaultmem.adapter import Value


def run(args: argparse.Namespace, output: Output) -> int:
    """Set or remove it, or show what would change."""
    value = None if args.value is None else meaning(args.value)
    more = {"add": args.add} if args.command == "set" else {}
    with vault_of(args, output) as vault:
        report = vault.ask(
            args.command, note=args.note, key=args.key, value=value, dry_run=args.dry_run, **more
        )
    show(report, output)
    return 0


def meaning(text: str) -> Value:
    """What a value means that is typed: a list in brackets, a number, true or false, or text as it stands."""
    from vaultmem.vault import frontmatter, yaml_lines  # few need it to start

    if text[:1] in "[\"'" and not text.startswith("[["):
        found = frontmatter.split(f"---\nvalue: {text}\n---\n").properties.get("value")
        return text if found is None or isinstance(found, dict) else found
    return yaml_lines.scalar(text)


def show(report: dict[str, Any], output: Output) -> None:
    """What became of a property."""
    if report.get("dry_run"):
        show_report(report, output)
    elif output.as_json:
        output.data(report)
    else:
        value = report["value"]
        text = value if isinstance(value, str) else json_text(value)
        said = "is" if report["changed"] else "was already"
        place = f"{output.paint(report['note'], 'cyan')}: {report['key']}"
        output.line(f"{place} {said} {'not there' if value is None else text}")
