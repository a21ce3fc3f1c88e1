"""The documents are true: what they name exists, and what exists is named."""

import json
import re
import runpy
import shlex
import subprocess
import tomllib
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from tests.cli_run import ROOT, generated, ran
from vaultmem import Vault
from vaultmem.api.tool import BlockedError, Call
from vaultmem.api.verbs import commands, every
from vaultmem.cli import usage
from vaultmem.commands import demo
from vaultmem.config import SETTINGS
from vaultmem_assistants.programs import HARNESSES

README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "guide"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [README, ROOT / "CHANGELOG.md", *DOCS]
DESIGN, FORMAT, WORDS = (ROOT / "docs" / f"{name}.md" for name in ("design", "format", "words"))


SETTINGS_HEAD = """# Settings

This page is made from the program. Settings are read from `~/.config/vaultmem/config.yaml` and from environment variables
(`VAULTMEM_EMBEDDING_MODEL=off`), which have precedence. A running agent uses the variables that it was started with.
Settings marked * may also be in the vault's own `.vaultmem/config.yaml`; a vault cannot set the others, because it may
come from anywhere.

| setting | default | meaning |
| --- | --- | --- |
"""
SETTINGS_END = """

An unknown setting is ignored with one warning. NAME is the name of any source: `ingestion.logseq.path: ~/graph`.
"""


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    return path.read_text("utf-8")


def modules() -> set[str]:
    found = set()
    for path in (ROOT / "vaultmem").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def test_the_design_has_a_short_section_for_each_package() -> None:
    part = text_of(DESIGN).partition("## Packages")[2].partition("\n## ")[0]
    sections = re.findall(r"^### (`[^\n]*`)\n\n(.*?)\n(?=\n###|\Z)", part, re.MULTILINE | re.DOTALL)
    named = [name for names, _ in sections for name in re.findall(r"`(\w+)`", names)]
    assert len(named) == len(set(named))
    shelf = {path.name for path in (ROOT / "adapters").glob("vaultmem_*")}
    assert {*named, "vaultmem", "__main__"} == shelf | {
        name.removeprefix("vaultmem.").partition(".")[0] for name in modules()
    }
    assert all(len(about) > 60 and about.count("\n") < 10 for _, about in sections)
    assert text_of(DESIGN).count("```mermaid") == 4


PROJECT = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
ENTRY_POINTS = {*PROJECT["entry-points"], "vaultmem.tools"}


def test_modules_that_pages_name_exist() -> None:
    known = modules()
    words = ("COMMANDS", "SETTINGS", "JOBS", "Vault", "Note", "Dialect", "Language", "value")
    known |= {f"{name}.{word}" for name in known for word in words} | ENTRY_POINTS
    file = re.compile(r"`((?:vaultmem|adapters|tests|benchmarks|docs)/[\w/.-]+)`")
    for path in PAGES:
        named = set(re.findall(r"`(vaultmem\.[a-z_]+(?:\.\w+)*)`", text_of(path)))
        assert named <= known, shown(path)
        files = {name for name in file.findall(text_of(path)) if not name.startswith("vaultmem/<")}
        assert [name for name in files if not (ROOT / name).exists()] == [], shown(path)


def test_every_command_is_in_the_guide_and_in_the_help() -> None:
    guide, shown_by_help = text_of(GUIDE / "commands.md"), usage(everything=True)
    for name, one in commands().items():
        typed = f"maintain {name}" if one.upkeep else name
        assert re.search(rf"\bvaultmem {typed}\b", guide), "docs/guide/commands.md names each once"
        assert one.upkeep or f"  {name} " in shown_by_help, name


def test_the_design_names_what_is_there() -> None:
    """Each name in the packages and in the table of changes is a file, or a word of the code."""
    tops = ("vaultmem", "adapters", "benchmarks", ".ci", "docs")
    ours = [one for top in tops for one in (ROOT / top).rglob("*")]
    files = [*ours, *(ROOT / "tests").rglob("*")]
    known = {part for one in files for part in one.relative_to(ROOT).with_suffix("").parts}
    known |= {"md", "toml", "py", "page", "pyproject", "", "tests"}
    code = (text_of(one) for one in ours if one.suffix in (".py", ".toml"))
    known |= {word for text in code for word in re.findall(r"\w+", text)}
    named = re.findall(r"`([\w./]+)`", text_of(DESIGN))
    assert not [name for name in named if not {*re.split(r"[./]", name)} <= known]


def test_every_assistant_that_can_be_connected_is_in_the_guide() -> None:
    guide = text_of(GUIDE / "assistants.md")
    for harness in HARNESSES.values():
        assert f"{harness.name}`" in guide, "docs/guide/assistants.md, above the table"
        assert f"| {harness.title} |" in guide, "docs/guide/assistants.md, in the table"


def test_commands_that_pages_show_exist() -> None:
    for path in PAGES:
        code = re.findall(r"^(?:    |\$ )?.*\bbin/vaultmem ([a-z-]+)", text_of(path), re.MULTILINE)
        code += re.findall(r"`vaultmem ([a-z-]+)", text_of(path))
        planned = {"serve", "agent", "mcp"}  # only mentioned as not there yet
        assert set(code) - planned <= {*commands(), "help", "maintain"}, shown(path)


def test_the_page_of_the_settings_is_made_from_them() -> None:
    rows = (
        f"| `{name}`{' *' if one.harmless else ''} | {f'`{one.default}`' if one.default != '' else ''} | {one.meaning} |"
        for name, one in SETTINGS.items()
    )
    generated(ROOT / "docs" / "settings.md", SETTINGS_HEAD + "\n".join(rows) + SETTINGS_END)


def test_the_verbs_of_the_socket_are_listed_under_its_methods() -> None:
    text = text_of(FORMAT)
    for method, is_slow in (("memory", False), ("memory.job", True)):
        names = (f"`{name}`" for name, one in every().items() if one.run and one.slow == is_slow)
        row = re.compile(rf"(?m)^(\| `{re.escape(method)}` \| [^|]* \| [^|]*?: )[^|]*( \|)$")
        text, rows = row.subn(rf"\g<1>{', '.join(names)}\g<2>", text)
        assert rows == 1, method
    generated(FORMAT, text)


def marked(name: str) -> str:
    """The command of README.md under <!-- command: name -->."""
    found = re.search(rf"<!-- command: {name} -->\n```sh\n(.+)\n```", text_of(README))
    assert found, name
    return found[1]


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    """.ci/run extracts it from README.md and runs it unchanged in a fresh copy of the tree."""
    script = re.search(r"awk '(.+)' README\.md", text_of(ROOT / ".ci" / "run"))
    assert script
    done = subprocess.run(["awk", script[1], README], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == marked("test")
    steps = marked("test").split(" && ")
    assert steps[0] == "python3 -m venv .venv"
    assert steps[1] == ".venv/bin/pip install -q -e '.[test]'"
    assert steps[2].startswith(".venv/bin/python -m pytest")


def test_the_readme_is_short_and_its_picture_is_of_this_demo() -> None:
    assert text_of(README).count("\n") <= 150
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text_of(README))
    shown_in_it = "".join(re.findall(r">([^<]*)<", text_of(ROOT / picture)))
    for step in demo.STORY:
        assert escape(shlex.join(step.words)) in shown_in_it, "python docs/screens/record.py"
        assert escape(step.title) in shown_in_it, "python docs/screens/record.py"


def test_a_recording_keeps_colours_columns_and_times() -> None:
    record = runpy.run_path(str(ROOT / "docs" / "screens" / "record.py"))
    parts = [(0.5, "\r\n\x1b[2m$ \x1b[0m"), (1.0, "\x1b[1mls <a>\x1b[0m"), (2.0, "\r\n📅 due\r\n")]
    first, second = record["lines_of"](parts)
    assert (first.start, first.end, first.spans) == (0.5, 1.0, [("2", "$ "), ("1", "ls <a>")])
    assert (second.start, second.spans) == (2.0, [("", "📅 due")])
    assert record["columns_of"]("📅 due") == 6
    picture = record["draw"]([first, second])
    ET.fromstring(picture)
    assert 'keyTimes="0;0.0833;0.1667;1" dur="6.00s"' in picture
    assert "ls &lt;a&gt;" in picture


@pytest.mark.usefixtures("without_a_model")
def test_the_python_of_the_guide_runs(
    sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its pieces, one after another, for a person whose vault is ~/notes."""
    (sample.parent / "notes" / ".obsidian").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(sample.parent))
    monkeypatch.chdir(sample.parent)
    known: dict[str, Any] = {}
    printed = []
    for code in re.findall(r"```python\n(.+?)```", text_of(GUIDE / "python.md"), re.DOTALL):
        exec(compile(code, "python.md", "exec"), known)
        printed.append(capsys.readouterr().out.splitlines())
    search, memory, recall, tools, hooks, events = printed
    assert len(search) > 3
    assert memory[0] == "Anne prefers trains to planes 1.0"
    assert "vaultmem/preferences/Anne prefers trains to planes.md" in memory[1]
    assert any(line.startswith("House/14 Alma Steps.md ") for line in recall)
    assert "House/14 Alma Steps.md:8: " in known["prompt"]
    assert "14 Alma Steps" in "".join(tools)
    assert known["answer"].data["count"] > 0
    assert not hooks
    kinds = ["agent_start", "tool_start", "tool_end", "agent_end"]
    assert [line.split()[0] for line in events] == kinds
    with Vault(str(sample)) as vault, pytest.raises(BlockedError, match="ask me first"):
        known["box"].call(vault, Call("memory_delete", {"id": "x"}, "tester"))


def found_by(shown: str) -> bool:
    """Whether a command or a tool finds something in a fresh sample vault."""
    try:
        told = json.loads(shown)
    except ValueError:
        return False
    data = told.get("data", told)
    places = data.get("results") or data.get("memories") or []
    if "data" not in told:
        return bool(places)
    return any(f"{one['path']}:{one['line']}" in told["text"] for one in places)


@pytest.mark.usefixtures("without_a_model")
def test_what_the_guide_asks_a_fresh_vault_is_found(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every search and recall of the guide, by words alone, before anything was remembered."""
    monkeypatch.chdir(sample)
    guide = "\n".join(text_of(page) for page in [README, *sorted(GUIDE.glob("*.md"))])
    guide = guide.replace("\\|", "|")
    typed = {*re.findall(r"`([^`\n]+)`", guide), *re.findall(r"(?m)^(?:\$ )?(\S.*)$", guide)}
    tools = {
        found[1] for one in typed if (found := re.search(r"echo '(.+)' \| vaultmem agent$", one))
    }
    assert len(tools) == 2
    for call in sorted(tools):
        assert found_by(ran("agent", stdin=call.encode()).out), call
    nowhere = {  # about the reader's own notes
        "vaultmem search lisbon flat",
        'vaultmem recall "how does Anne like to travel?"   # for a prompt, within a budget of tokens',
    }
    asked = {one for one in typed - nowhere if re.match(r"vaultmem (?:search|recall) ", one)}
    asked = {one for one in asked if not re.search(r"--batch|--open|--help|FORMAT|WORDS|…", one)}
    assert len(asked) >= 8
    for one in sorted(asked):
        words = [word for word in shlex.split(one.partition("  #")[0])[1:] if word != "--semantic"]
        assert found_by(ran(*words, "--format", "json").out), one


LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(<?([^)>\s]+)>?\)|!\[[^\]\n]*\]\(([^)\s]+)\)")


def anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_between_pages_lead_somewhere() -> None:
    lost = []
    for page in PAGES:
        without_code = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL)
        targets = (unquote(match[1] or match[2]) for match in LINK.finditer(without_code))
        for target in (one for one in targets if not re.match(r"[a-z]+:", one)):
            file, _, anchor = target.partition("#")
            found = (page.parent / file).resolve() if file else page
            if not found.exists() or (anchor and anchor not in anchors(found)):
                lost.append((shown(page), target))
    assert not lost


RULE = re.compile(r"\bR-[A-Z]+(?:-\d+)?\b")


def test_every_rule_that_is_cited_is_explained() -> None:
    explained = set(RULE.findall(text_of(FORMAT)))
    rows = re.findall(r"^\| (R-[A-Z]+-\d+) \| (.+) \|$", text_of(FORMAT), re.MULTILINE)
    assert {name for name in explained if name[-1].isdigit()} <= {name for name, _ in rows}
    places = [*ROOT.glob("vaultmem/**/*.py"), *ROOT.glob("adapters/**/*.py"), *ROOT.glob("tests/**/*.py"),
              *ROOT.glob("tests/data/link_cases/*.json"), *ROOT.glob("benchmarks/**/*.py")]  # fmt: skip
    cited = {rule for path in places for rule in RULE.findall(text_of(path))}
    assert len(cited) > 50
    assert cited - explained == set()


def test_decisions_are_numbered_and_told_in_three_parts() -> None:
    decisions = sorted((ROOT / "docs" / "adr").glob("*.md"))
    numbers = [int(path.name[:4]) for path in decisions]
    assert numbers == sorted(set(numbers))
    for path in decisions:
        parts = re.findall(r"^## (.+)$", text_of(path), re.MULTILINE)
        assert parts[:1] == ["Context"], shown(path)
        assert {"Decision", "Consequences"} <= set(parts), shown(path)
        assert text_of(path).startswith(f"# {int(path.name[:4])}. "), shown(path)
    cited = set()
    for place in (*ROOT.glob("vaultmem/**/*.py"), ROOT / "pyproject.toml"):
        cited |= set(re.findall(r"docs/adr/(\d{4})", text_of(place)))
    assert cited <= {path.name[:4] for path in decisions}


def test_every_dependency_has_its_reason() -> None:
    told = text_of(ROOT / "docs" / "adr" / "0002-dependencies.md")
    listed = text_of(ROOT / "pyproject.toml").partition("dependencies = [")[2].partition("]")[0]
    names = re.findall(r'"([\w-]+)', listed)
    assert len(names) > 5
    assert [name for name in names if f"| {name} " not in told] == []


def test_no_page_is_half_done_or_names_a_place_of_one_machine() -> None:
    half = r"(?i:PLACEHOLDER|TBD|FIXME|lorem ipsum)"
    wrong = re.compile(rf"{half}|(?:^|[\s`(])/(?:work|tmp|root|Users|home/(?!me/))")
    assert not [shown(page) for page in PAGES if wrong.search(text_of(page))]
