"""Dozens of processes, each forked from one that has done the imports, which take longer than the work itself."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

# It forks one at a time. A child's changes, output and failures stay its own.
SERVER = """
import json, os, signal, sys, traceback

def work(asked):
    for number, path in ((1, asked["out"]), (2, asked["err"])):
        os.dup2(os.open(path, os.O_WRONLY), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv = ["-c", *asked["words"]]
    try:
        exec(compile(asked["code"], "<fork>", "exec"), {"__name__": "__main__"})
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

for line in sys.stdin:
    child = os.fork()
    if not child:
        code = work(json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Forks:
    """The process from which they are forked."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder

    def run(
        self, code: str, words: Sequence[str], cwd: str = ".", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as `python -c` does, and wait for its end."""
        out, err = self._folder / "out", self._folder / "err"
        out.write_bytes(b"")
        err.write_bytes(b"")
        asked = {
            "code": code, "words": [*words], "cwd": os.path.abspath(cwd), "env": {**os.environ, **environ},
            "out": str(out), "err": str(err),
        }  # fmt: skip
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        status = os.waitstatus_to_exitcode(int(self._process.stdout.readline()))
        said = [file.read_text("utf-8", "replace") for file in (out, err)]
        return subprocess.CompletedProcess([*words], status, *said)


@contextlib.contextmanager
def forks_of(imports: str) -> Iterator[Forks]:
    """A process that has run these imports, which may not start threads."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-c", imports + SERVER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as process,
    ):  # fmt: skip
        yield Forks(process, Path(folder))
