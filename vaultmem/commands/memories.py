"""What the commands of memories do alike: their options, which memory is meant, how changes are shown."""

from __future__ import annotations

import os

from vaultmem.api import Vault
from vaultmem.commands.shared import say_warnings
from vaultmem.commands.zone import use_zone
from vaultmem.errors import VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural
from vaultmem.vault.places import GENERATED

if TYPE_CHECKING:
    import argparse
    from typing import Any

SHORT_ID = 8
MOST_PROPERTIES = 65_536  # bytes in which the properties of a note end
STRAY = "is in no folder of a category, and is left alone"
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
    from vaultmem.vault import pages
    from vaultmem.vault.files import decode

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
