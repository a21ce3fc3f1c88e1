"""What the commands of memories do alike: their options, which memory is meant, how changes are shown."""

from __future__ import annotations

from vaultmem.api import Vault
from vaultmem.commands.shared import say_warnings
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.errors import UsageError
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse
    from typing import Any

SHORT_ID = 8
SWITCHES = ("--dry-run", "--global", "--deleted", "--last", "--accept", "--reject", "--list")
WHICH = "its id, the beginning of one, its title or its path"
_DONE = {
    "create": "written", "edit": "changed", "move": "filed under", "archive": "archived", "restore": "restored",
}  # fmt: skip
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def vault_of(args: argparse.Namespace, output: Output) -> Vault:
    """The vault. Memories need no index, so none is made for them. In the agent the vault is open."""
    given = args.vault
    vault = given if isinstance(given, Vault) else Vault(given)
    say_warnings(output, vault)
    return vault


def memory_option(parser: argparse.ArgumentParser, *, optional: str = "") -> None:
    """The memory that is meant; a title of several words needs no quotes."""
    said = f"{WHICH}; {optional}" if optional else WHICH
    parser.add_argument("id", nargs="*", metavar="ID", help=said)


def writing_options(parser: argparse.ArgumentParser) -> None:
    """What all commands that write have."""
    parser.add_argument(
        "--by", metavar="NAME", help="the assistant that asks for it; you, if left out"
    )
    dry_run_option(parser)


def dry_run_option(parser: argparse.ArgumentParser) -> None:
    """To look before anything is done."""
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change, and change nothing"
    )


def named(words: list[str], command: str) -> str:
    """The memory that is meant."""
    given = " ".join(words).strip()
    if not given:
        raise UsageError(f"name a memory by {WHICH}; see vaultmem {command} --help")
    return given


def listed(text: str | None) -> list[str]:
    """Words with commas between them."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def short(id_: object) -> str:
    """As much of an id as tells memories apart."""
    return str(id_)[:SHORT_ID]


def place(record: dict[str, Any], output: Output) -> str:
    """A memory in one line."""
    id_, path = output.paint(short(record["id"]), "yellow"), output.paint(record["path"], "cyan")
    return f"{record['title']} ({id_}) in {path}"


def say_done(done: str, record: dict[str, Any], output: Output) -> None:
    """What became of a memory: the record as JSON, a line for a person."""
    if output.as_json:
        output.data(record)
    else:
        output.line(f"{done}: {place(record, output)}")


def show_report(report: dict[str, Any], output: Output) -> None:
    """What a job, or a dry run of any verb, would change or has changed; and what it noticed."""
    if output.as_json:
        output.data(report)
        return
    for change in report["changes"]:
        output.line(_changed(change, output))
        if change.get("diff"):
            show_diff(change["diff"], output)
    if report["findings"]:
        output.line(output.paint("to review", "bold"))
    for found in report["findings"]:
        where = output.paint(found["subject"], "cyan")
        output.line(f"  {found['kind']}: {where}  {found['said']}")
        for other in found["others"]:
            output.line(f"      {output.paint(other, 'dim')}")
    _say_counts(report, output)


def _changed(change: dict[str, Any], output: Output) -> str:
    folder, _, name = change["target"].rpartition("/")
    category = folder.rpartition("/")[2]
    done = _DONE.get(change["action"], change["action"])
    if change["action"] == "move":
        done = f"{done} {category}"
    why = change["why"].removeprefix(f"{done}: ").replace(f"{category}: ", "")
    tail = "" if not why or why == done else f" — {output.paint(why, 'dim')}"
    return f"{done}: {output.paint(name.removesuffix('.md'), 'bold')}{tail}"


def _say_counts(report: dict[str, Any], output: Output) -> None:
    said = [f"{count:,} {_counted(action)}" for action, count in report["counts"].items()]
    for name, what in (("skipped", "left alone"), ("findings", "to review")):
        if report[name]:
            said.append(f"{len(report[name]):,} {what}")
    head = f"{report['job']}, nothing was done yet" if report["dry_run"] else report["job"]
    output.remark(f"vaultmem: {head}: {', '.join(said) or 'nothing to change'}")
    for skipped in report["skipped"]:
        output.remark(f"vaultmem: left alone: {skipped['path']}: {skipped['reason']}")
    if report.get("proposals"):
        many = plural(report["proposals"], "proposal")
        output.remark(f"vaultmem: {many} for notes of yours: vaultmem review")
    if report["left"]:
        output.remark(f"vaultmem: {report['left']:,} more {_wait(report['left'])}: run it again")


def _counted(action: str) -> str:
    return "filed" if action == "move" else _DONE.get(action, action)


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"


def show_diff(text: str, output: Output) -> None:
    """A unified diff, in colours on a terminal and exact elsewhere."""
    for line in text.removesuffix("\n").split("\n"):
        style = "bold" if line.startswith(("+++", "---")) else _COLOURS.get(line[:1])
        output.text((output.paint(line, style) if style else line) + "\n")


def count_of(number: int) -> str:
    """ "1 memory", "2 memories"."""
    return plural(number, "memory", "memories")
