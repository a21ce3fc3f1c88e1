"""vaultmem export: memories as lines of JSON, the oldest first."""

from __future__ import annotations

import contextlib
import os

from vaultmem.commands.memories import vault_of
from vaultmem.errors import VaultmemError
from vaultmem.exchange.lines import SHAPES
from vaultmem.output import Output
from vaultmem.text.values import TYPE_CHECKING, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import BinaryIO

FORMATS = SHAPES


def run(args: argparse.Namespace, output: Output) -> int:
    """Write the lines."""
    shape = args.format if args.format in FORMATS else None
    left_out: list[int] = []
    with vault_of(args, output) as vault:
        lines = vault.export_lines(
            scope=args.scope,
            category=args.category,
            include_archived=args.include_archived,
            shape=shape,
            told=left_out.append,
        )
        if args.output:
            count = _to_file(args.output, lines, force=args.force)
            output.remark(f"vaultmem: {plural(count, 'memory', 'memories')} in {args.output}")
        else:
            for line in lines:
                output.text(line + "\n")
    if left_out:
        said = plural(left_out[0], "file")
        output.remark(f"vaultmem: {said} that cannot be read left out: vaultmem doctor names them")
    return 0


def _to_file(path: str, lines: Iterable[str], *, force: bool) -> int:
    """Write a new file, whole or not at all; how many lines it has. What is remembered is for its owner alone."""
    folder, name = os.path.split(os.path.abspath(os.path.expanduser(path)))
    target, temp = f"{folder}/{name}", f"{folder}/.{name}.{os.getpid()}.tmp"
    if os.path.lexists(target) and not force:
        raise VaultmemError(f"{path} is there already; --force replaces it")
    try:
        with open(temp, "xb", opener=_privately) as file:
            count = _written(file, lines)
        if force:
            os.replace(temp, target)
        else:
            os.link(temp, target)
    except FileExistsError as error:
        raise VaultmemError(f"{path} is there already; --force replaces it") from error
    except OSError as error:
        raise VaultmemError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temp)
    return count


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _written(file: BinaryIO, lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        file.write(line.encode() + b"\n")
        count += 1
    file.flush()
    os.fsync(file.fileno())
    return count
