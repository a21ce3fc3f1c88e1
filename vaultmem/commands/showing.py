"""Verbs of memories that need no more than their parameters: asked as they are declared, and shown as text."""

from __future__ import annotations

from vaultmem.api.verbs import COMMAND, JSON, resolve
from vaultmem.commands.history import entry
from vaultmem.commands.memories import (
    count_of,
    place,
    say_done,
    short,
    show_diff,
    show_report,
    vault_of,
)
from vaultmem.commands.parsing import declared
from vaultmem.output import Output, table
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping
    from typing import Any

    from vaultmem.memories.model import MemoryRecord

    Report = dict[str, Any]

_ROWS = ("id", "path", "category", "scope", "tags", "source", "agent", "personality", "project", "type",
         "memory_type", "importance", "links", "created_at", "updated_at", "last_reinforced_at",
         "expires_at")  # fmt: skip


def run(name: str, args: Namespace, output: Output) -> int:
    """Carry out a verb, and show what it answers."""
    verb = declared(declared(name).same_as or name)
    with vault_of(args, output) as vault:
        answer = vault.ask(declared(name).same_as or name, **params_of(name, args))
    if getattr(args, "dry_run", False) and "changes" in answer:
        show_report(answer, output)
    elif output.as_json:
        output.data(answer)
    else:
        resolve(f"commands.{verb.show}")(answer, args, output)
    return 0


def params_of(name: str, args: Namespace) -> dict[str, object]:
    """What a command was given for the parameters of the verb of its name."""
    own = (one for one in declared(name).params if one.fits(COMMAND) and one.fits(JSON))
    return {one.name: getattr(args, one.name) for one in own}


def memory(answer: MemoryRecord, _args: Namespace, output: Output) -> None:
    """read: a memory with all that is known of it."""
    output.line(output.paint(answer["title"], "bold"))
    for row in table(_rows(answer)):
        output.line(output.paint(row, "dim"))
    output.line()
    output.text(answer["content"].removesuffix("\n") + "\n")


def _rows(answer: MemoryRecord) -> list[tuple[str, str]]:
    rows = []
    for name in _ROWS:
        value = answer.get(name)
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if shown not in (None, ""):
            rows.append((name, str(shown)))
    confidence = f"{answer['confidence']:.2f} ({answer['decay_policy']})"
    return [*rows, ("confidence", confidence), ("read", f"{answer['access_count']:,} ×")]


def memories(answer: Report, args: Namespace, output: Output) -> None:
    """list: a line for each memory."""
    each = answer["memories"]
    output.remark(f"vaultmem: {count_of(len(each))}{' in the archive' if args.deleted else ''}")
    rows = [
        (
            short(one["id"]), one["created_at"][:10], one["category"],
            " ".join([one["title"], *(f"#{tag}" for tag in one["tags"]), *_attribution(one)]),
        )
        for one in each
    ]  # fmt: skip
    for row in table(rows):
        output.line(output.paint(row[:8], "yellow") + row[8:])


def _attribution(one: Mapping[str, object]) -> list[str]:
    """Whose words they are, where nobody has approved them."""
    return [f"({one['attribution']})"] if "attribution" in one else []


def deleted(answer: Report, _args: Namespace, output: Output) -> None:
    """delete: where the memory is now."""
    say_done("deleted", answer, output)


def restored(answer: Report, _args: Namespace, output: Output) -> None:
    """restore: where the memory is now."""
    say_done("restored", answer, output)


def tagged(answer: Report, _args: Namespace, output: Output) -> None:
    """tag: the tags of the memory."""
    tags = " ".join(f"#{tag}" for tag in answer["tags"]) or "no tags"
    output.line(f"{place(answer, output)}: {tags}")


def linked(answer: Report, _args: Namespace, output: Output) -> None:
    """link: the two memories."""
    _pair(answer, output, ("linked", "were linked already"))


def unlinked(answer: Report, _args: Namespace, output: Output) -> None:
    """unlink: the two memories."""
    _pair(answer, output, ("no longer linked", "were not linked"))


def _pair(answer: Report, output: Output, said: tuple[str, str]) -> None:
    pair = f"{short(answer['source'])} and {short(answer['target'])}"
    output.line(f"{said[0]}: {pair}" if answer["changed"] else f"{pair} {said[1]}")


def reinforced(answer: Report, _args: Namespace, output: Output) -> None:
    """reinforce: how sure the memory is again."""
    output.line(f"reinforced: {short(answer['id'])}, confidence {answer['confidence']:.2f}")


def report(answer: Report, _args: Namespace, output: Output) -> None:
    """Jobs: what they changed."""
    show_report(answer, output)


def approved(answer: Report, args: Namespace, output: Output) -> None:
    """approve: the memories."""
    for one in answer["memories"]:
        output.line(place(one, output))
    done = "no longer approved" if args.undo else "approved"
    done = f"would be {done}" if args.dry_run else done
    many = count_of(len(answer["memories"]))
    output.remark(
        f"vaultmem: {done}: {many}" if answer["memories"] else "vaultmem: nothing to approve"
    )


def difference(answer: Report, _args: Namespace, output: Output) -> None:
    """diff: an entry of the history, and its unified diff."""
    output.remark(f"vaultmem: {entry(answer, output)}")
    show_diff(answer["diff"], output)
