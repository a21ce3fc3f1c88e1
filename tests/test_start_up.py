"""A command starts fast because it imports little: what is loaded is counted, and heavy things are named."""

import copy
import difflib
import json
import pickle
import subprocess
import sys
import tomllib
import typing
from pathlib import Path

import pytest

from tests.stand_in_agent import agent_for
from vaultmem import Vault, light
from vaultmem.memories.reports import diff_of
from vaultmem.text import values

# Each of these alone costs more than all that a keyword search does.
HEAVY = {
    "numpy", "onnxruntime", "fastembed", "hnswlib", "yaml", "frontmatter", "tokenizers", "huggingface_hub", "loguru",
    "dataclasses", "inspect", "argparse", "gettext", "locale", "asyncio", "importlib.metadata", "email", "platformdirs", "apscheduler", "watchdog",
    "git", "requests", "httpx", "urllib.request", "ssl", "socket", "subprocess", "logging", "unittest", "tempfile",
    "concurrent.futures", "multiprocessing", "difflib", "shutil", "bz2", "lzma", "random", "vaultmem.index.sync", "vaultmem_obsidian", "vaultmem_logseq",
    "vaultmem.notes.dialects", "vaultmem.search.semantic", "vaultmem.vectors.vectors", "typing",
}  # fmt: skip
# A library that is needed imports these; nothing else of the list may come along with it.
KEYWORD_NEEDS = {"sqlite3"}

MODEL_AND_GIT = set("numpy onnxruntime fastembed hnswlib git asyncio huggingface_hub ssl".split())

MOST = 91  # of them json and what it imports are 23, and the table of verbs with its check 8

DUMP = """
import sys
import warnings  # sqlite3 brings it from Python 3.12 on
bare = set(sys.modules)
from vaultmem import cli
code = cli.main(sys.argv[1:])
loaded = sorted(set(sys.modules) - bare)
import json
print(json.dumps(loaded), file=sys.stderr)
sys.exit(code)
"""


def loaded(*words: str, stdin: str = "") -> set[str]:
    """The modules that a command has imported in the end, beyond those of a bare Python."""
    ended = subprocess.run(
        [sys.executable, "-c", DUMP, *words], input=stdin, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return set(json.loads(ended.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def remembering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with two memories that was never indexed."""
    folder = tmp_path_factory.mktemp("remembering") / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    with Vault(str(folder)) as vault:
        vault.write("tea")
        vault.write("bread")
    return folder


def test_help_imports_next_to_nothing() -> None:
    modules = loaded("--help")
    assert not modules & (HEAVY | KEYWORD_NEEDS | {"argparse", "re", "tantivy"})
    assert len(modules) <= 13, sorted(modules)  # of them 8 are the tables of four packages


def test_a_keyword_search_imports_little(indexed: Path) -> None:
    modules = loaded("search", "word", "--format", "json", "--vault", str(indexed))
    assert not modules & HEAVY
    assert "tantivy" in modules
    assert len(modules) <= MOST, (len(modules), sorted(modules))


def test_naming_those_who_wrote_a_result_imports_little_more(tmp_path: Path) -> None:
    (tmp_path / "Clip.md").write_text("---\nsource: https://example.org\n---\na word\n")
    with Vault(str(tmp_path)) as vault:
        vault.write("Another word", by="claude")
        vault.sync()
    modules = loaded("search", "word", "--format", "json", "--vault", str(tmp_path))
    assert "vaultmem.pending.record" in modules
    assert not modules & {
        "vaultmem.pending.approving",
        "vaultmem.pending.carrying",
        "vaultmem.pending.pending",
    }
    assert len(modules) <= 146, (len(modules), sorted(modules))


@pytest.mark.parametrize("command", ["status", "tasks", "links Home", "sync --no-embed"])
def test_other_reading_commands_are_light(indexed: Path, command: str) -> None:
    modules = loaded(*command.split(), "--format", "json", "--vault", str(indexed))
    heavy = MODEL_AND_GIT - {"git"}
    if command == "status":  # it counts the vectors
        heavy = heavy - {"numpy"} | {"yaml"}
    elif not command.startswith("sync"):
        heavy |= HEAVY
    assert not modules & heavy


THROUGH: list[tuple[tuple[str, ...], str, int]] = [  # words, stdin, and how many modules at most
    (("search", "word", "--format", "json"), "", 12),
    (("read", "tea", "--format", "json"), "", 12),
    (("list", "--format", "json"), "", 12),
    (("hook", "session-start", "--harness", "codex", "--format", "json"), "", 16),  # a package more
    (("agent", "--list-tools"), "", 14),
    (("agent", "--prompt", "-"), "tea", 14),
    (("agent",), '[{"name": "memory_list"}, {"prompt": "tea"}]', 14),
]


def test_what_the_agent_answers_is_asked_with_next_to_nothing(
    remembering: Path, indexed: Path
) -> None:
    never = {"argparse", "re", "json", "tantivy", "importlib", "vaultmem.api.vault"}
    with agent_for(remembering) as host, agent_for(indexed):
        for words, stdin, most in THROUGH:
            vault = indexed if "search" in words else remembering
            modules = loaded(*words, "--vault", str(vault), stdin=stdin)
            assert not modules & (HEAVY | KEYWORD_NEEDS | never), words
            assert len(modules) <= most, (words, sorted(modules))
        modules = loaded("write", "coffee", "--format", "json", "--vault", str(remembering))
        assert host.opened == 7
    assert (remembering / "vaultmem" / "inbox" / "coffee.md").exists()
    memories = {"vaultmem.memories.store", "vaultmem.memories.model"}
    assert not modules & ((HEAVY - {"socket"}) | memories | {"sqlite3", "datetime"})
    assert len(modules) <= 70, (len(modules), sorted(modules))


@pytest.mark.parametrize(
    ("words", "most"),
    [(("list",), 110), (("recall", "knee"), 146), (("write", "--dry-run", "milk"), 173)],
)
def test_without_an_agent_memories_import_what_they_need(
    remembering: Path, indexed: Path, words: tuple[str, ...], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """By words: neither the parts of reminders and chats, nor what only shows what went wrong."""
    monkeypatch.setenv("VAULTMEM_EMBEDDING_MODEL", "off")
    vault = remembering if words[0] == "list" else indexed
    modules = loaded(*words, "--format", "json", "--vault", str(vault))
    never = "logging importlib.metadata tomllib difflib vaultmem.history vaultmem.pending.pending"
    assert not modules & {*never.split()}
    assert len(modules) <= most, (len(modules), sorted(modules))


def test_a_hook_without_an_agent_loads_no_model_no_git_and_no_history(
    indexed: Path, remembering: Path
) -> None:
    heavy = MODEL_AND_GIT | {"subprocess", "logging", "tempfile", "typing", "vaultmem.history"}
    for vault in (indexed, remembering):
        modules = loaded("hook", "session-start", "--harness", "claude", "--vault", str(vault))
        assert not modules & heavy


ROOT = Path(__file__).parents[1]
TABLES = [*ROOT.glob("vaultmem/**/*.toml"), *ROOT.glob("adapters/**/*.toml")]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_of_ours_is_read_as_tomllib_reads_it(path: Path) -> None:
    text = path.read_text("utf-8")
    table = values.simple_toml(text)
    assert table in (None, tomllib.loads(text))
    if path.stem in ("words", "secrets", "details"):  # those that short commands need
        assert table


@pytest.mark.parametrize(
    ("text", "is_simple"),
    [
        ("", True), ("# only\n\n# words\n", True), ("a = ''\n[b.c]\n'd e' = 'x # y'\n\"f-g\" = \'\'\'\n x'y''\\\n\'\'\'\n", True),
        ("a = 'x' # why\n", False), ('a = "x"\n', False), ("a = 1\n", False), ("a = ['x']\n", False), ("[[a]]\n", False),
        ("a = \'\'\'x\'\'\'\'\n", False), (" a = 'x'\n", False), ("a = 'x'", False), ("a='x'\n", False),
    ],
)  # fmt: skip
def test_a_table_of_more_than_literal_strings_is_left_to_tomllib(
    text: str, is_simple: bool
) -> None:
    assert values.simple_toml(text) == (tomllib.loads(text) if is_simple else None)
    assert tomllib.loads(text) is not None


@pytest.mark.parametrize("new", ["", "a", "a\nb", "a\n", "\n", "---\n+++\n@@\n"])
def test_the_diff_of_a_new_file_is_that_of_difflib(new: str) -> None:
    lines = difflib.unified_diff([], new.splitlines(), "(new)", "a.md", lineterm="")
    assert diff_of(None, "a.md", b"", new.encode()) == "\n".join(lines) + "\n"


def record(base: typing.Any, name: str) -> typing.Any:
    """A record of one of the two kinds, under a name of this module, by which pickle finds it."""

    class Kind(base):  # type: ignore[misc] # the parameter
        """A record."""

        name: str
        numbers: tuple[int, ...] = ()
        note: str = "none"

        @property
        def size(self) -> int:
            return len(self.numbers)

    Kind.__name__ = Kind.__qualname__ = name
    return Kind


Typed, Light = record(typing.NamedTuple, "Typed"), record(light.NamedTuple, "Light")


@pytest.mark.parametrize("kind", [Typed, Light])
def test_a_light_record_does_what_one_of_typing_does(kind: typing.Any) -> None:
    class Below(kind):  # type: ignore[valid-type, misc] # the parameter
        pass

    for cls in (kind, Below, kind):  # the first call with a name changes how the class makes them
        full = cls("a", (1, 2), "b")
        assert full == ("a", (1, 2), "b") == cls(note="b", name="a", numbers=(1, 2))
        assert hash(full) == hash(tuple(full))
        assert (full.name, full.size, cls("x").note, cls("x", note="y").numbers) == (
            "a",
            2,
            "none",
            (),
        )
        assert repr(full) == f"{cls.__name__}(name='a', numbers=(1, 2), note='b')"
        assert full._replace(name="c") == cls("c", (1, 2), "b") == cls._make(["c", (1, 2), "b"])
        assert type(full._replace(name="c")) is type(copy.copy(full)) is cls
        assert full._asdict() == {"name": "a", "numbers": (1, 2), "note": "b"}
        for wrong in (cls, lambda: cls("a", (), "b", 1), lambda: cls("a", other=1)):  # noqa: B023 - called here
            with pytest.raises(TypeError, match="argument"):
                wrong()
        with pytest.raises(AttributeError):
            full.name = "z"
        match full:
            case cls(name, _, note):
                assert (name, note) == ("a", "b")
    assert not hasattr(kind("a"), "__dict__")
    assert pickle.loads(pickle.dumps(kind("a", note="b"))) == kind("a", (), "b")
    assert (kind._fields, kind._field_defaults) == (
        ("name", "numbers", "note"),
        {"numbers": (), "note": "none"},
    )
    assert (kind.__doc__, kind.__module__) == ("A record.", __name__)


def test_the_package_itself_is_lazy() -> None:
    code = "import sys, vaultmem; print([m for m in sys.modules if m.startswith('vaultmem')], vaultmem.__version__)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("['vaultmem'] ")


def test_importing_languages_and_memories_compiles_none_of_their_patterns() -> None:
    """Hundreds of regular expressions cost a third of a second, and most starts need none of them."""
    code = (
        "import re, sys\n"
        "compiled, compile = [], re.compile\n"
        "def noted(*given):\n"
        "    compiled.append(sys._getframe(1).f_code.co_filename)\n"
        "    return compile(*given)\n"
        "re.compile = noted\n"
        "import vaultmem_languages.facts, vaultmem_languages.reminder_phrase, vaultmem.text.secrets\n"
        "import vaultmem_languages.statements, vaultmem.text.recurrence, vaultmem.text.titles\n"
        "import vaultmem.operations.filing, vaultmem.operations.writing, vaultmem.recall.recall_text\n"
        "import vaultmem.api.toolbox, vaultmem.dreams.note_names, vaultmem.dreams.summaries, vaultmem.recall.recall\n"
        "print([one for one in compiled if '/vaultmem' in one and '/vaultmem_obsidian/' not in one\n"
        "       and '/vaultmem_logseq/' not in one and '/adapter/' not in one])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
