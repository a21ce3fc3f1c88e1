"""What the commands of memories do alike: their options, which memory is meant, how changes are shown."""

from __future__ import annotations

import os

from vaultmem.api import Vault
from vaultmem.commands.shared import say_warnings
from vaultmem.commands.zone import use_zone
from vaultmem.core.places import GENERATED
from vaultmem.core.values import TYPE_CHECKING
from vaultmem.core.wording import plural
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import Output

if TYPE_CHECKING:
    import argparse
    from typing import Any

SHORT_ID = 8
MOST_PROPERTIES = 65_536  # bytes in which the properties of a note end
STRAY = "is in no folder of a category, and is left alone"
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
    if vault is not given:
        use_zone(vault.config.text("notify.timezone"))
    say_warnings(output, vault)
    return vault


def memory_option(parser: argparse.ArgumentParser, *, optional: str = "") -> None:
    """The memory that is meant; a title of several words needs no quotes."""
    said = f"{WHICH}; a title of several words needs no quotes"
    said = f"{said}; {optional}" if optional else said
    made = parser.add_argument("id", nargs="*", metavar="ID", help=said)
    made.required = not optional  # for its usage; named() says what is missing


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


def limit_option(parser: argparse.ArgumentParser) -> None:
    """What all jobs have beside."""
    parser.add_argument("-n", "--limit", type=int, help="how many memories to change at most")
    writing_options(parser)


def pair_options(parser: argparse.ArgumentParser) -> None:
    """Two memories."""
    parser.add_argument("id", metavar="ID", help=f"a memory: {WHICH}")
    parser.add_argument("other", metavar="OTHER", help="the other one, named likewise")
    writing_options(parser)


def run_job(
    args: argparse.Namespace, output: Output, verb: str, vault: Vault, **more: object
) -> int:
    """Do a job on memories, or show what it would do."""
    show_report(vault.ask(verb, dry_run=args.dry_run, limit=args.limit, by=args.by, **more), output)
    return 0


def run_pair(args: argparse.Namespace, output: Output, verb: str, said: tuple[str, str]) -> int:
    """Do something with two memories; `said` tells that it was done, and that it was so already."""
    with vault_of(args, output) as vault:
        report = vault.ask(verb, id=args.id, other=args.other, by=args.by, dry_run=args.dry_run)
    if args.dry_run:
        show_report(report, output)
    elif output.as_json:
        output.data(report)
    else:
        pair = f"{short(report['source'])} and {short(report['target'])}"
        output.line(f"{said[0]}: {pair}" if report["changed"] else f"{pair} {said[1]}")
    return 0


def run_one(args: argparse.Namespace, output: Output, verb: str, done: str) -> int:
    """Do something with one memory."""
    given = named(args.id, verb)
    with vault_of(args, output) as vault:
        report = vault.ask(verb, id=given, by=args.by, dry_run=args.dry_run)
    if args.dry_run:
        show_report(report, output)
    else:
        say_done(done, report, output)
    return 0


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
    why = change["why"].removeprefix(f"{done}: ").removeprefix(f"{category}: ")
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
    if report.get("aside"):
        output.remark(f"vaultmem: left alone: {plural(report['aside'], 'file')} edited just now")
    if report.get("proposals"):
        many = plural(report["proposals"], "proposal")
        what = "" if report.get("model") else " for notes of yours"
        output.remark(f"vaultmem: {many}{what}: vaultmem review")
    if report.get("model") and report["model"]["trouble"]:
        output.remark(f"vaultmem: without a model: {report['model']['trouble']}")
    if report["left"]:
        output.remark(f"vaultmem: {report['left']:,} more {_wait(report['left'])}: run it again")


def _counted(action: str) -> str:
    return "filed" if action == "move" else _DONE.get(action, action)


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"


def strays(vault: Vault) -> list[str]:
    """Notes that lie in the memory folder itself, in no folder of a category, and have no id: no job minds them."""
    folder = vault.config.text("memory_folder")
    try:
        with os.scandir(os.path.join(vault.path, folder)) as entries:
            notes = [each for each in entries if each.name.endswith(".md") and each.is_file()]
    except OSError:
        return []
    theirs = (each for each in notes if each.name not in GENERATED and each.name[0] != ".")
    return sorted(f"{folder}/{each.name}" for each in theirs if not _has_id(each.path))


def _has_id(path: str) -> bool:
    from vaultmem.store import pages
    from vaultmem.store.vault import decode

    try:
        with open(path, "rb") as file:
            text = decode(file.read(MOST_PROPERTIES))[0]
        return bool(pages.read("frontmatter", text).properties.get("id"))
    except (OSError, VaultmemError):
        return True  # the doctor tells of it


def show_diff(text: str, output: Output) -> None:
    """A unified diff, in colours on a terminal and exact elsewhere."""
    for line in text.removesuffix("\n").split("\n"):
        style = "bold" if line.startswith(("+++", "---")) else _COLOURS.get(line[:1])
        output.text((output.paint(line, style) if style else line) + "\n")


def count_of(number: int) -> str:
    """ "1 memory", "2 memories"."""
    return plural(number, "memory", "memories")
