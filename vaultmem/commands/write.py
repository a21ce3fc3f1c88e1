"""vaultmem write (and create): write a memory."""

from __future__ import annotations

import os
import stat
import sys

from vaultmem.client import is_terminal
from vaultmem.commands.memories import (
    place,
    say_done,
    show_report,
    vault_of,
)
from vaultmem.errors import UsageError, VaultmemError
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from typing import Any

MOST_READ = 16_777_216  # bytes of stdin; more is no memory, whatever it is
_TEXTS = {
    "category": "soul, character, people, project, date, knowledge, feedback, preferences, decisions, lessons, "
    "habits, skills, reminders or inbox (the default)",
    "scope": "who sees it: global (the default), agent:NAME, conversation:ID or user:ID",
    "source": "where it comes from",
    "agent": "the assistant that writes it",
    "personality": "the role the assistant plays",
    "project": "the project it belongs to",
    "type": "what kind it is, in your own words",
    "memory-type": "episodic, semantic, procedural or working; guessed if left out",
    "decay": "stable, contextual, reinforceable or fsrs; the category's own if left out",
    "expires": "when it ends: a day or a time, also in words (tomorrow), or a span such as 7d",
    "title": "what to call it",
}


def run(args: argparse.Namespace, output: Output) -> int:
    """Write it, and say what it resembles."""
    content = text_or_stdin(args.content, output)
    about = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in _TEXTS}
    with vault_of(args, output) as vault:
        written = vault.write(
            content, **about, everywhere=args.everywhere, tags=args.tags, replaces=args.replaces, by=args.by,
            dry_run=args.dry_run,
        )  # fmt: skip
    if args.dry_run and "changes" in written:
        show_report(written, output)
    elif output.as_json or written["created"]:
        say_done("written", written, output)
    if not output.as_json:
        _say_clashes(written, output)
    return 0


def text_or_stdin(given: str | None, output: Output) -> str:
    """The words as text, or what comes from stdin in their place. Scripts that read lines in a loop leave the rest of
    them on stdin: that is no error."""
    if given is not None and given != "-":
        if is_data_waiting():
            output.remark(
                "vaultmem: stdin is left alone, because there are words; - in their place reads it"
            )
        return given
    if given is None and is_terminal(sys.stdin):
        raise UsageError(
            "what is to be remembered? type it behind write, or pipe it in; see vaultmem write --help"
        )
    data = sys.stdin.buffer.read(MOST_READ)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VaultmemError(
            f"what came from stdin is not UTF-8 text (byte {error.start + 1:,}); convert it first, "
            "for example with iconv"
        ) from error


def is_data_waiting() -> bool:
    """Whether something was piped in, as far as it is there by now: nobody is waited for."""
    try:
        handle = sys.stdin.fileno()
        mode = os.fstat(handle)
        if stat.S_ISREG(mode.st_mode):
            return os.lseek(handle, 0, os.SEEK_CUR) < mode.st_size
        if not (stat.S_ISFIFO(mode.st_mode) or stat.S_ISSOCK(mode.st_mode)):
            return False
        import fcntl  # most commands never ask
        import termios

        waiting = fcntl.ioctl(handle, termios.FIONREAD, bytes(4))
    except (AttributeError, OSError, ValueError):  # closed, missing, or no file at all
        return False
    return bool(int.from_bytes(waiting, sys.byteorder))


def _say_clashes(written: dict[str, Any], output: Output) -> None:
    if written.get("duplicate_of"):
        output.remark(f"vaultmem: the same text is there already: {place(written, output)}")
    say_secrets(written, output)
    same = written.get("same_as", ())
    for one in same:
        then = (
            "a dream merges the two, vaultmem undo takes that back"
            if one["merges"]
            else "both stay"
        )
        output.remark(f"vaultmem: says the same as {place(one, output)}; {then}")
    named = {one["id"] for one in same}
    for one in (each for each in written["similar"] if each["id"] not in named):
        output.remark(f"vaultmem: similar to {place(one, output)} ({one['similarity']:.0%} alike)")
    replaced = written.get("replaced", ())
    for one in written["contradicts"]:
        verb = "replaces" if one["id"] in replaced else "may contradict"
        output.remark(f"vaultmem: {verb} {place(one, output)}: {one['why']}")
    if replaced:
        output.remark(
            "vaultmem: what is replaced is in the archive; vaultmem undo --last takes that back"
        )


def say_secrets(written: dict[str, Any], output: Output) -> None:
    """What in the text looks like a secret: taken out of what an assistant writes, only named to a person."""
    if written["redacted"]:
        output.remark(
            f"vaultmem: taken out, for no memory should hold it: {', '.join(written['redacted'])}"
        )
    if written["secrets"]:
        output.remark(
            f"vaultmem: this holds what looks like a secret ({', '.join(written['secrets'])}); whoever can read the "
            "vault can read it"
        )
