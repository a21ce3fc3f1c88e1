"""The command line starts fast because it imports little; this counts modules, not milliseconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vaultmem.config import Config
from vaultmem.sync import sync

HEAVY = {
    *["numpy", "fastembed", "onnxruntime", "tokenizers", "hnswlib", "loguru", "huggingface_hub"],
    *["yaml", "frontmatter", "dateutil"],
    *["dataclasses", "typing", "pathlib", "inspect", "ast", "tempfile", "subprocess", "asyncio", "socket", "urllib"],
}  # fmt: skip
RUN = """
import json, sys
before = set(sys.modules)
from vaultmem.cli import main
code = main(sys.argv[1:])
loaded = sorted(set(sys.modules) - before)
sys.stderr.write("\\n" + json.dumps([code, loaded]) + "\\n")
"""


def loaded_by(*words: str) -> set[str]:
    """The modules that a command imports on top of those of a bare Python start."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=True
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return set(names)


@pytest.fixture(scope="session")
def indexed(sample: Path) -> str:
    """The sample vault with an index."""
    sync(str(sample), Config({}))
    return str(sample)


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_imports_no_command_and_no_argparse(words: list[str]) -> None:
    loaded = loaded_by(*words)
    assert not {name for name in loaded if name.startswith("vaultmem.commands")}
    assert not {"argparse", "json", "re"} & loaded


@pytest.mark.parametrize(
    "words",
    [["search", "damp wall"], ["search", "--format", "json", "tag:garden 泡菜"],
     ["backlinks", "Home"], ["links", "Home"], ["unresolved"], ["tasks"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_question_imports_nothing_heavy(words: list[str], indexed: str) -> None:
    loaded = loaded_by(*words, "--vault", indexed)
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    assert not {"vaultmem.meaning", "vaultmem.sync", "vaultmem.dialects"} & loaded
    commands = {name for name in loaded if name.startswith("vaultmem.commands.")}
    assert f"vaultmem.commands.{words[0]}" in commands
    assert commands <= {f"vaultmem.commands.{name}" for name in (words[0], "shared", "links")}
