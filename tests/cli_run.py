"""Runs a command line as a person would: in this process for speed, or in a separate one."""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from vaultmem import cli

ROOT = Path(__file__).parents[1]


def generated(path: Path, now: str) -> None:
    """Compare with a file that UPDATE_GOLDEN=1 writes."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(now, "utf-8")
    assert now == path.read_text("utf-8"), f"{path.name} has changed; UPDATE_GOLDEN=1 writes it"


def golden(name: str, now: str) -> None:
    """Compare with a stored transcript."""
    generated(ROOT / "tests" / "golden" / name, now)


class Ran(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


def ran(*words: str, stdin: bytes = b"") -> Ran:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = cli.main([*words])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdin = before
    return Ran(code, out.getvalue(), err.getvalue())


def on(vault: Path | str, command: str, *more: str, stdin: bytes = b"") -> Ran:
    """Like ran(), on a vault."""
    name, *options = command.split()
    return ran(name, "--vault", str(vault), *options, *more, stdin=stdin)


def as_text(vault: Path | str, command: str, *more: str) -> Ran:
    """What a person reads."""
    return on(vault, command, "--format", "text", *more)


def done(vault: Path | str, command: str, *more: str, stdin: bytes = b"") -> Any:
    """The JSON of a successful command."""
    ended = on(vault, command, "--format", "json", *more, stdin=stdin)
    assert ended.code == 0, ended.err
    return ended.data


def process(*words: str, stdin: bytes = b"", **environ: str) -> Ran:
    """Run a command in a separate process."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-m", "vaultmem", *words],
        input=stdin, capture_output=True, timeout=180, check=False, env={**os.environ, **environ},
    )  # fmt: skip
    return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that has ended after the block, whatever happens; one that was not told to end is killed."""
    with subprocess.Popen(command, **options) as running:
        try:
            yield running
        finally:
            running.kill()


def at_terminal(
    *words: str,
    typed: str = "",
    size: tuple[int, int] = (0, 0),
    apart: bool = False,
    **environ: str,
) -> Ran:
    """A command at a terminal of this size, and what a person types there. `out` is everything displayed; with
    `apart`, errors are kept separately."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    own = {name: one for name, one in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "vaultmem", *words]
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    with (
        tempfile.TemporaryFile() as errors,
        started(
            command,
            env={**own, "TERM": "xterm", **environ},
            **(ends | {"stderr": errors} if apart else ends),
        ) as running,
    ):
        os.write(ours, typed.encode())
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65_536):
                seen += part
        os.close(ours)
        code = running.wait(60)
        errors.seek(0)
        err = errors.read().decode()
    return Ran(code, seen.decode().replace("\r\n", "\n"), err)


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
