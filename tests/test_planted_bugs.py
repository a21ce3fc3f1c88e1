"""The suite catches bugs: each of these is planted into a copy of the code, and tests must fail there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forks import Forks, forks_of

ROOT = Path(__file__).parents[1]

# where, what stands there, the bug, the tests that must notice
PLANTED = [
    (
        "vaultmem/index/keyword.py",
        "self._writer.delete_documents_by_query(",
        "(lambda _: None)(",
        "tests/test_keyword.py -k replaced_and_removed",
    ),
    (
        "vaultmem/index/indexer.py",
        "self._stale(before ^ names, note.links)",
        "self._stale(names - names, note.links)",
        "tests/test_sync.py -k stops_before",
    ),
    (
        "vaultmem/index/compare.py",
        "count > VANISH_COUNT and count > VANISH_SHARE * total",
        "count > total",
        "tests/test_compare.py",
    ),
    (
        "vaultmem/index/compare.py",
        "return one.mtime_ns, one.inode, one.ctime_ns",
        "return one.mtime_ns, 0, 0",
        "tests/test_compare.py -k same_size_and_time",
    ),
    (
        "adapters/vaultmem_obsidian/links.py",
        ".lower()",
        ".upper()",
        "tests/test_link_cases.py",
    ),
    (
        "vaultmem/memories/model.py",
        "max(0.0, 1.0 - age_hours / half_life)",
        "1.0 - age_hours / half_life",
        "tests/test_decay.py",
    ),
    (
        "vaultmem/vault/write.py",
        "os.replace(",
        "shutil.copyfile(",
        "tests/test_write.py",
    ),
    (
        "vaultmem/notes/blocks.py",
        "if first.label or piece.label",
        "if first.label and piece.label",
        "tests/test_blocks.py -k speakers",
    ),
    ("vaultmem/output.py", "text.translate(_CONTROL)", "text", "tests/test_output.py"),
    (
        "vaultmem/agent/debounce.py",
        "return 0.0 if seen.moved else GONE_WAIT",
        "return 0.0",
        "tests/test_agent_process.py -k deletions",
    ),
    (
        "vaultmem/agent/debounce.py",
        "min(touch.doubted, now)",
        "min(touch.doubted, touch.last)",
        "tests/test_agent_parts.py -k moves_as_it",
    ),
    (
        "vaultmem/agent/debounce.py",
        "files = (touch.path for touch in touches)",
        "files = (touch.path for touch in touches if not touch.folder)",
        "tests/test_vanish_guard.py",
    ),
    (
        "vaultmem/agent/debounce.py",
        "before = sum(number for _, number in self._lately)",
        "before = 0",
        "tests/test_vanish_guard.py",
    ),
    (
        "vaultmem/agent/reconciler.py",
        "            self._state.sweep()\n",
        "            self._state.manifest()\n",
        "tests/test_agent_ends.py -k dead_agent",
    ),
    (
        "vaultmem/dreams/same.py",
        "access.may_stand_for(one, other, self._trust)",
        "True",
        "tests/test_plan_merge.py",
    ),
    (
        "vaultmem/dreams/merge.py",
        "else _latest(ends)}",
        "else stamp(min(end for end in ends if end))}",
        "tests/test_plan_merge.py",
    ),
    (
        "vaultmem/dreams/dream.py",
        "< QUIET and",
        "< 0 and",
        "tests/test_plan_adopt.py",
    ),
    (
        "vaultmem/dreams/same.py",
        "elif _fold(unit) not in known:",
        "elif _folded(unit) not in known and len(unit[0]) > 8:",
        "tests/test_plan_merge.py",
    ),
    (
        "vaultmem/history/undo.py",
        "if data == new:",
        "if True:",
        "tests/test_undo.py -k other_lines",
    ),
    (
        "vaultmem/vault/write.py",
        "return None if late == seen.data else late",
        "return None",
        "tests/test_write.py -k displaced",
    ),
    (
        "vaultmem/text/times.py",
        "_FIRST <= result <= _LAST",
        "True",
        "tests/test_memories_safe.py -k calendar",
    ),
    (
        "vaultmem/operations/past.py",
        "if one.is_ours",
        "",
        "tests/test_memories_safe.py -k what_a_person_did",
    ),
    (
        "vaultmem/reminders/notify.py",
        "            record(list(alarm.records))\n            try:",
        "            try:",
        "tests/test_notify.py",
    ),
    (
        "vaultmem/pending/pending_page.py",
        "            turn.record_all()\n            turn.on_page",
        "            turn.on_page",
        "tests/test_page.py",
    ),
    (
        "vaultmem/pending/record.py",
        "if before is None or rank(before) < rank(one):",
        "if before is None:",
        "tests/test_record.py -k of_two_answers",
    ),
    (
        "vaultmem/reminders/items.py",
        "return is_approved(due.id, answers)",
        "return True",
        "tests/test_pending_items.py",
    ),
    (
        "adapters/vaultmem_obsidian/links.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nimport vaultmem.memories.model\n",
        "tests/test_house.py -k inward",
    ),
    (
        "vaultmem/api/toolbox.py",
        "counted[name, what] = left - 1, now",
        "counted[name, what] = self._buckets[name, what] = left - 1, now",
        "tests/test_toolbox.py -k refused_call",
    ),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code, for one bug after the other: what is compiled of the rest stays good."""
    copied = tmp_path_factory.mktemp("tree")
    for part in ("vaultmem", "adapters", "tests", "sample-vault", "benchmarks", "docs"):
        shutil.copytree(ROOT / part, copied / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, copied)
    return copied


@contextmanager
def planted(file: Path, number: int, good: str, bad: str) -> Iterator[None]:
    """The bug, for the time of the block. Each has a time of its own, by which Python knows what it has compiled."""
    code, seen = file.read_text("utf-8"), file.stat()
    assert good in code
    try:
        file.write_text(code.replace(good, bad), "utf-8")
        os.utime(file, (seen.st_atime, seen.st_mtime + 10 * (number + 1)))
        yield
    finally:
        file.write_text(code, "utf-8")
        os.utime(file, (seen.st_atime, seen.st_mtime))


# What needs no line of ours.
IMPORTS = """
import asyncio, execnet, hypothesis.stateful, numpy, pytest, sqlite3, tantivy, yaml
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
    path, good, bad, tests = PLANTED[number]
    # Plugins are loaded for the options in pyproject.toml only: to load all of them takes longer than most of these.
    plugins = ["-p", "xdist.plugin", "-p", "no:cacheprovider"]
    command = ["-x", "-q", *plugins, *tests.split()]
    sources = os.pathsep.join((str(tree), str(tree / "adapters")))
    env = {"PYTHONPATH": sources, "VAULTMEM_PATIENCE": "10",
           "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "VAULTMEM_ANY_FAILURE": "1", "VAULTMEM_LAWS": "1"}  # fmt: skip
    with planted(tree / path, number, good, bad):
        done = forks.run(RUN, command, str(tree), **env)
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert " failed" in done.stdout
