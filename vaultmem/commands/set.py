"""vaultmem set: set a property of a note."""

from __future__ import annotations

from vaultmem.commands.memories import dry_run_option, show_report, vault_of
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.output import Output, json_text

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from vaultmem.adapter import Value

EPILOG = """\
The value is read as in front matter: 5 is a number, true is true, [a, b] is a list, all else is text. No other byte of
the note changes; vaultmem undo takes it back."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    property_arguments(parser)
    parser.add_argument("value", metavar="VALUE", help="what the property is to be")
    parser.add_argument("--add", action="store_true", help="one more item of its list instead")
    dry_run_option(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Set it, or show what would change."""
    with vault_of(args, output) as vault:
        report = vault.set(
            args.note, args.key, meaning(args.value), add=args.add, dry_run=args.dry_run
        )
    show(report, output)
    return 0


def property_arguments(parser: argparse.ArgumentParser) -> None:
    """Which property of which note."""
    parser.add_argument("note", metavar="NOTE", help="a path, title, file name or alias")
    parser.add_argument("key", metavar="KEY", help="the name of the property")


def meaning(text: str) -> Value:
    """What a value means that is typed: a list in brackets, a number, true or false, or text as it stands."""
    from vaultmem.store import frontmatter, yaml_lines  # few need it to start

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
