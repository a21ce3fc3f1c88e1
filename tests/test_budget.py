"""The code stays small: docs/budget.toml has the lines and modules of each package, and lists that may only become
shorter. UPDATE_BUDGET=1 writes today's numbers; an increase then shows in the diff."""

import math
import os
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "budget.toml"
LEAST = 60  # lines of a module
CODE = (".py", ".js", ".css")


def packages() -> dict[str, list[Path]]:
    """The files by package; "top" are those directly in vaultmem."""
    own = ROOT / "vaultmem"
    files = {"top": sorted(own.glob("*.py"))}
    for folder in sorted([*own.iterdir(), *(ROOT / "adapters").glob("vaultmem_*")]):
        if inside := sorted(path for path in folder.rglob("*") if path.suffix in CODE):
            files[folder.name] = inside
    return files


def lines_of(path: Path) -> int:
    return path.read_text("utf-8").count("\n")


def is_module(path: Path) -> bool:
    return path.suffix == ".py" and path.stem not in ("__init__", "__main__")


MODULES = [path for paths in packages().values() for path in paths if is_module(path)]


def sizes() -> dict[str, dict[str, int]]:
    return {
        name: {"lines": sum(map(lines_of, paths)), "modules": sum(map(is_module, paths))}
        for name, paths in packages().items()
    }


def short() -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in MODULES if lines_of(path) < LEAST)


def twice() -> list[str]:
    counts = Counter(path.name for path in MODULES)
    return sorted(name for name, count in counts.items() if count > 1)


def odd_words(avoid: list[str]) -> float:
    """How often these words occur in 1,000 lines of code."""
    count = lines = 0
    for path in (path for paths in packages().values() for path in paths if path.suffix == ".py"):
        text = path.read_text("utf-8")
        lines += text.count("\n")
        plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
        count += sum(word in avoid for word in re.findall(r"[a-z]+", plain))
    return count * 1000 / lines


UNTYPED = {
    "any": re.compile(r"\bAny\b(?! [a-z])"),  # no sentence begins so
    "objects": re.compile(r"\b(?:dict|Mapping|MutableMapping)\[str, object\]"),
}


def untyped() -> dict[str, dict[str, int]]:
    """How often types give no information."""

    def count(folder: str) -> dict[str, int]:
        text = "\n".join(path.read_text("utf-8") for path in (ROOT / folder).rglob("*.py"))
        return {name: len(one.findall(text)) for name, one in UNTYPED.items()}

    return {"core": count("vaultmem"), "shelf": count("adapters")}


@pytest.fixture(scope="module")
def budget() -> dict[str, dict[str, object]]:
    text = FILE.read_text("utf-8")
    if os.environ.get("UPDATE_BUDGET"):
        text = updated(text)
        FILE.write_text(text, "utf-8")
    return tomllib.loads(text)


def updated(text: str) -> str:
    """The file with today's numbers."""
    rows = "".join(
        f"{name} = {{ lines = {one['lines']}, modules = {one['modules']} }}\n"
        for name, one in sizes().items()
    )
    text = re.sub(r"(?s)(?<=\[packages\]\n).*?(?=\n\n|\Z)", rows.rstrip("\n"), text)
    for name, listed in (("short", short()), ("twice", twice())):
        lines = "".join(f'    "{one}",\n' for one in listed)
        text = re.sub(rf"(?s)^{name} = \[.*?\]", f"{name} = [\n{lines}]", text, flags=re.MULTILINE)
    for part, own in untyped().items():
        counts = ", ".join(f"{name} = {count}" for name, count in own.items())
        text = re.sub(rf"(?m)^{part} = .*", f"{part} = {{ {counts} }}", text)
    ceiling = math.ceil(odd_words(tomllib.loads(text)["words"]["avoid"]))
    return re.sub(r"(?<=ceiling = )\d+", str(ceiling), text)


def test_every_package_keeps_its_budget(budget: dict[str, dict[str, dict[str, int]]]) -> None:
    most = budget["packages"]
    none = {"lines": 0, "modules": 0}
    over = {
        name: own
        for name, own in sizes().items()
        if any(own[what] > most.get(name, none)[what] for what in own)
    }
    assert not over, "a raise is a commit of its own that says what for"


def test_a_package_can_be_taken_in_at_a_look() -> None:
    """Commands are one for each group and a few; the top level has what anything may need before it has a package."""
    most = {"vaultmem/commands": 20, "vaultmem": 15}
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in MODULES)
    over = {
        name: n for name, n in counts.items() if n > most.get(name.removeprefix("adapters/"), 14)
    }
    assert not over, "what in it belongs together is a package of its own"


def test_modules_are_no_crumbs_and_no_namesakes(budget: dict[str, list[str]]) -> None:
    assert set(short()) <= set(budget["short"]), "fold it into the module that needs it"
    assert set(twice()) <= set(budget["twice"]), "one of the two needs another name"


def test_words_are_those_of_the_field(budget: dict[str, dict[str, list[str]]]) -> None:
    words = budget["words"]
    assert odd_words(words["avoid"]) <= float(str(words["ceiling"]))


def test_types_say_something(budget: dict[str, dict[str, dict[str, int]]]) -> None:
    counts, most = untyped(), budget["untyped"]
    assert all(own[name] <= most[part][name] for part, own in counts.items() for name in own)
    for part, folder in (("core", "vaultmem"), ("shelf", "adapters")):
        lines = sum(map(lines_of, (ROOT / folder).rglob("*.py")))
        assert all(count * 1000 < lines for count in counts[part].values())
