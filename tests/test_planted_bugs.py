"""The test suite catches bugs: each of these is planted into a copy of the code, where tests must fail."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forks import Forks, forks_of

ROOT = Path(__file__).parents[1]

# file, the tests that must notice; the original code, the bug
PLANTED = [
    ("vaultmem/index/indexer.py", "tests/test_sync.py -k stops_before",
     "self._stale(before ^ names, note.links)", "self._stale(names - names, note.links)"),
    ("vaultmem/index/compare.py", "tests/test_compare.py",
     "gone > VANISH_COUNT and gone > VANISH_SHARE * total", "gone > total"),
    ("vaultmem/index/compare.py", "tests/test_compare.py -k same_size_and_time",
     "return file.mtime_ns, file.inode, file.ctime_ns", "return file.mtime_ns, 0, 0"),
    ("vaultmem/memories/model.py", "tests/test_classify.py",
     "max(0.0, 1.0 - age_hours / half_life)", "1.0 - age_hours / half_life"),
    ("vaultmem/vault/write.py", "tests/test_write.py",
     "os.replace(", "shutil.copyfile("),
    ("vaultmem/agent/debounce.py", "tests/test_vanish_guard.py",
     "files = (touch.path for touch in touches)", "files = (touch.path for touch in touches if not touch.folder)"),
    ("vaultmem/agent/reconciler.py", "tests/test_agent_parts.py -k killed_agent",
     "            self._state.sweep()\n", "            self._state.manifest()\n"),
    ("vaultmem/dreams/same.py", "tests/test_plan_merge.py",
     "access.may_stand_for(one, other, self._trust)", "True"),
    ("vaultmem/dreams/merge.py", "tests/test_plan_merge.py",
     "else _latest(ends)}", "else stamp(min(end for end in ends if end))}"),
    ("vaultmem/dreams/same.py", "tests/test_plan_merge.py -k union",
     "(folded and folded not in present)", "(folded and folded not in present and len(line) > 8)"),
    ("vaultmem/operations/past.py", "tests/test_memories_safe.py -k what_a_person_did",
     "if entry.is_ours", ""),
    ("vaultmem/reminders/alarms.py", "tests/test_notify.py",
     "            record(list(alarm.records))\n            try:", "            try:"),
    ("vaultmem/pending/pending_page.py", "tests/test_page.py",
     "        self.record_all()\n        self.on_page", "        self.on_page"),
    ("vaultmem/synclog/log_entries.py", "tests/test_record.py -k of_two_answers",
     "if newest is None or (newest != entry and rank(newest) < rank(entry)):", "if newest is None:"),
    ("vaultmem/memories/item_answers.py", "tests/test_answering.py -k may_answer",
     "is_approved(id_, answers) if foreign", "True if foreign"),
    ("adapters/vaultmem_obsidian/links.py", "tests/test_house.py -k inward",
     "from __future__ import annotations\n",
     "from __future__ import annotations\n\nimport vaultmem.memories.model\n"),
    ("vaultmem/paths.py", "tests/test_server.py -k start_at_once",
     "fcntl.flock(self._handle, fcntl.LOCK_EX | (0 if self._wait else fcntl.LOCK_NB))", "pass"),
    ("adapters/vaultmem_chat/llm/replies.py", "tests/test_proxy_responses.py -k official_client",
     'kind == "response.output_text.delta"', 'kind == "response.text.delta"'),
    ("vaultmem/api/toolbox.py", "tests/test_toolbox.py -k refused_call",
     "counted[name, what] = left - 1, now", "counted[name, what] = self._buckets[name, what] = left - 1, now"),
]  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code and its bytecode, for one bug after another."""
    copied = tmp_path_factory.mktemp("tree")
    for part in ("vaultmem", "adapters", "tests", "sample-vault", "benchmarks", "docs"):
        shutil.copytree(ROOT / part, copied / part, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, copied)
    return copied


@contextmanager
def planted(file: Path, number: int, good: str, bad: str) -> Iterator[None]:
    """The bug, during the block. Each has its own file time, by which Python knows what it has compiled."""
    code, seen = file.read_text("utf-8"), file.stat()
    assert good in code
    try:
        file.write_text(code.replace(good, bad), "utf-8")
        os.utime(file, (seen.st_atime, seen.st_mtime + 10 * (number + 1)))
        yield
    finally:
        file.write_text(code, "utf-8")
        os.utime(file, (seen.st_atime, seen.st_mtime))


# Compiled without our code: to print its version, pytest imports its own plugins.
IMPORTS = """
import asyncio, contextlib, execnet, gc, hypothesis.stateful, io, numpy, os, pytest, sqlite3, tantivy, yaml
with contextlib.redirect_stdout(io.StringIO()):
    pytest.main(["--version", "-p", "xdist.plugin", "-c", os.devnull])
gc.freeze()
"""
RUN = """
import os, sys, pytest
sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with forks_of(IMPORTS) as found:
        yield found


@pytest.mark.parametrize("number", range(len(PLANTED)), ids=[p[0] for p in PLANTED])
def test_planted_bug_is_caught(number: int, tree: Path, forks: Forks) -> None:
    path, tests, good, bad = PLANTED[number]
    # Only plugins for the options in pyproject.toml are loaded: loading all takes longer than most of these tests.
    plugins = ["-p", "xdist.plugin", "-p", "no:cacheprovider"]
    command = ["-x", "-q", *plugins, *tests.split()]
    sources = os.pathsep.join((str(tree), str(tree / "adapters")))
    env = {"PYTHONPATH": sources, "VAULTMEM_PATIENCE": "10",
           "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "VAULTMEM_ANY_FAILURE": "1"}  # fmt: skip
    with planted(tree / path, number, good, bad):
        done = forks.run(RUN, command, str(tree), **env)
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert " failed" in done.stdout
