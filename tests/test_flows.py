"""The diagrams of docs/design.md name every module that a search, a saved note and a write go through, in order."""

import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from tests.agent_run import PATCHED, agent_on
from tests.cli_run import ran
from tests.test_docs import DESIGN, ROOT, text_of
from vaultmem.search.keyword_search import KeywordSearcher
from vaultmem.vault import write

# Records which module of ours calls which, the calls of libraries in between left out; each pair once, at once.
RECORD = """
import os, sys, threading
roots = {roots!r}
pairs, out = set(), open(os.environ["FLOWS"], "a", buffering=1)
def module_of(code):
    name = code.co_filename
    root = next((root for root in roots if name.startswith(root)), None)
    return root and code.co_name != "<module>" and name[len(root):-3]
def noted(frame, event, _):
    called = event == "call" and module_of(frame.f_code)
    caller = called and frame.f_back
    while caller and not module_of(caller.f_code):
        caller = caller.f_back
    if caller and (pair := (module_of(caller.f_code), called)) not in pairs:
        pairs.add(pair)
        out.write(" ".join(pair) + chr(10))
threading.setprofile(noted)
sys.setprofile(noted)
"""
_ARROW = re.compile(r"\s*(-->|-- \w+ -->|-\. [\w ]+ \.->)\s*")
_LABEL = re.compile(r"\w+\[(.*)\]")


def recorded(code: str = RECORD.format(roots=(f"{ROOT}/vaultmem/", f"{ROOT}/adapters/"))) -> str:
    """Python that records, on one line."""
    return f"exec({code!r})"


def steps(title: str) -> list[tuple[str, str, str]]:
    """The arrows of a diagram: from, kind, to; nodes by their labels."""
    diagram = text_of(DESIGN).partition(title)[2].partition("```mermaid\n")[2].partition("```")[0]
    found = []
    for line in diagram.splitlines()[1:]:
        words = _ARROW.split(line.strip())
        nodes = [_LABEL.sub(r"\1", word) for word in words[::2]]
        found += list(zip(nodes, words[1::2], nodes[1:], strict=False))
    return found


def is_module(node: str) -> bool:
    return any((ROOT / folder / f"{node}.py").exists() for folder in ("vaultmem", "adapters"))


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The pairs of modules of which one calls the other, from the start of an agent to a search and a write."""
    folder = tmp_path_factory.mktemp("flows")
    vault, flows = folder / "vault", folder / "flows"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Tea.md").write_text("Green tea, ten grams.\n", encoding="utf-8")
    with agent_on(vault, patch=recorded(), FLOWS=str(flows)) as agent:
        agent.watches()
        (vault / "Rope.md").write_text("The rope hangs in the shed.\n", encoding="utf-8")
        agent.finds("rope", "Rope.md")
        for words in (
            ["search", "tea"],
            ["write", "Leo prefers tea"],
            ["write", "Leo prefers oats"],
        ):
            code = PATCHED.format(recorded())
            run = [sys.executable, "-c", code, *words, "--vault", str(vault)]
            environ = {**os.environ, "FLOWS": str(flows), "VAULTMEM_EMBEDDING_MODEL": "off"}
            subprocess.run(run, env=environ, check=True, capture_output=True)
    lines = (line.split() for line in flows.read_text("utf-8").splitlines())
    return {(caller, called) for caller, called in lines}


@pytest.mark.parametrize("title", ["\nA search", "\nFrom a saved note", "\nFrom `write`"])
def test_a_diagram_leaves_out_no_module_between(calls: set[tuple[str, str]], title: str) -> None:
    seen = {module for pair in calls for module in pair}
    arrows = [step for step in steps(title) if is_module(step[0]) and is_module(step[2])]
    assert len(arrows) > 4
    for one, arrow, other in arrows:
        if arrow == "-->":
            assert (one, other) in calls, (one, other)
        else:
            assert one in seen


PASSING_ON = {"api/methods", "api/memory_vault"}  # they call what they are passed


@pytest.mark.parametrize(
    ("words", "last", "files"),
    [
        (
            "search tea",
            (KeywordSearcher, "sized"),
            "cli commands/search_views api/vault search/search",
        ),
        (
            "write oats",
            (write, "take_name"),
            "cli api/rpc operations/writing memories/store vault/write",
        ),
    ],
)
def test_without_an_agent_a_command_crosses_few_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, last: tuple[object, str], files: str
) -> None:  # fmt: skip
    crossed: list[str] = []
    work = getattr(*last)

    def noted(*args: object) -> object:
        ours = (Path(frame.filename) for frame in traceback.extract_stack())
        names = (
            path.relative_to(ROOT / "vaultmem").with_suffix("")
            for path in ours
            if path.is_relative_to(ROOT / "vaultmem")
        )
        crossed.extend(dict.fromkeys(name.as_posix() for name in names))
        return work(*args)

    monkeypatch.setattr(*last, noted)
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Tea.md").write_text("Green tea, ten grams.\n", encoding="utf-8")
    assert ran(*words.split(), "--vault", str(tmp_path)).code == 0
    assert [name for name in crossed if name not in PASSING_ON] == files.split()
