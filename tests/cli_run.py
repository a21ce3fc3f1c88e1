"""Run a command line as a person would: in this process for speed, or as a process of its own."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from vaultmem import cli


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


def ran(*words: str, given: bytes = b"") -> Ran:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    stdin = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = cli.main([*words])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdin = stdin
    return Ran(code, out.getvalue(), err.getvalue())


def process(*words: str, given: bytes = b"", **environ: str) -> Ran:
    """Run a command in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-m", "vaultmem", *words],
        input=given, capture_output=True, timeout=60, check=False, env={**os.environ, **environ},
    )  # fmt: skip
    return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def one_line(ended: Ran) -> str:
    """The one line on stderr that says what went wrong."""
    assert "Traceback" not in ended.err, ended.err
    lines = ended.err.splitlines()
    assert len(lines) == 1, ended.err
    return lines[0]


def tree_hash(root: Path, *, times: bool = True) -> str:
    """A hash over everything in a folder: names, kinds, times and bytes."""
    digest = hashlib.blake2b()
    for place, folders, names in sorted(os.walk(os.fsencode(root))):
        for name in sorted([*folders, *names]):
            full = os.path.join(place, name)
            stat = os.lstat(full)
            digest.update(repr((full, stat.st_mode, stat.st_mtime_ns if times else 0)).encode())
            if os.path.isfile(full) and not os.path.islink(full) and stat.st_size < 1_000_000:
                digest.update(Path(os.fsdecode(full)).read_bytes())
    return digest.hexdigest()
