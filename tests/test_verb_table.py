"""The table of verbs: what is declared once, and what is made from it. UPDATE_GOLDEN=1 writes the generated files."""

import argparse
import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli_run import ROOT, generated, on
from tests.laws import examples
from vaultmem import Vault
from vaultmem.api import params
from vaultmem.api.methods import Methods, method_name
from vaultmem.api.verbs import (
    COMMAND,
    GROUPS,
    JSON,
    PYTHON,
    Param,
    Verb,
    commands,
    every,
    find_verb,
    resolve,
    resolve_command,
)
from vaultmem.commands import manual
from vaultmem.commands.parsing import asks_for_help, options_of, parse, read_words, shared_options
from vaultmem.errors import UsageError
from vaultmem.text.values import SOON, TEXT_PROPERTIES

TYPES = {
    "int": "int", "float": "float", "flag": "bool", "switch": "bool", "texts": "Iterable[str]", "repeated": "Iterable[str]",
    "records": "Iterable[Mapping[str, object]]", "any": "object",
}  # fmt: skip


def signature(one: Param) -> str:
    """A parameter in Python."""
    kind = TYPES.get(one.kind, "str")
    if one.needed:
        return f"{one.name}: {kind}"
    if one.default is not None:
        return f"{one.name}: {kind} = {one.default!r}"
    return f"{one.name}: {kind} | None = None"


def answer_type(verb: Verb) -> str:
    """What the function of a verb of the core returns, where that is a type of its own."""
    type_ = str(resolve(verb.run).__annotations__["return"])
    return type_ if type_.isidentifier() and type_ != "JsonObject" else "dict[str, Any]"


def stub(name: str, verb: Verb) -> str:
    """The method of a verb in methods.pyi."""
    own = [one for one in verb.of(PYTHON) if one.doors != "agent"]
    lists = [one for one in own if one.place == "*" and one.kind == "texts"]
    first = [one for one in own if (one.place or one.leads) and one not in lists]
    given = ["self", *map(signature, first)]
    rest = [signature(one) for one in own if one not in first and one not in lists]
    star = [f"*{one.name}: str" for one in lists] or (["*"] if rest else [])
    gives = verb.gives.partition(": ")[2] or verb.gives or answer_type(verb)
    listed = ", ".join([*given, *star, *rest])
    return f"    def {method_name(name, verb)}({listed}) -> {gives}: ...\n"


def test_the_stub_of_the_methods_is_made_from_the_table() -> None:
    head = (
        "# Made from the table of verbs; UPDATE_GOLDEN=1 pytest tests/test_verb_table.py writes it.\n"
        "from collections.abc import Iterable, Mapping\nfrom typing import Any\n\n"
    )
    body = (
        "\ndef method_name(name: str, verb: Verb) -> str: ...\n\n"
        "class Methods:\n    def ask(self, verb: str, /, **params: object) -> Any: ...\n"
    )
    verbs = {name: one for name, one in every().items() if one.run and method_name(name, one)}
    text = "".join(stub(name, verb) for name, verb in verbs.items())
    places = {
        name: value.__module__
        for module in [one for name, one in sys.modules.items() if name.startswith("vaultmem.")]
        for name, value in vars(module).items()
        if isinstance(value, type) and re.search(rf"-> (?:list\[)?{name}\b", text)
    } | {"MemoryRecord": "vaultmem.memories.model", "Verb": "vaultmem.api.verbs"}
    imports = sorted(f"from {module} import {name}\n" for name, module in places.items())
    generated(ROOT / "vaultmem" / "api" / "methods.pyi", "".join([head, *imports, body, text]))


def row(one: Param) -> str:
    """A parameter in the reference."""
    limits = [f"{resolve(one.least):,} or more" if one.least is not None else "", f"at most {resolve(one.most):,}" if one.most is not None else ""]  # fmt: skip
    choices = "" if "{known}" in one.help else ", ".join(map(str, resolve(one.choices)))
    default = f"default {one.default}" if one.default not in (None, False, "") else ""
    said = "; ".join(each for each in (manual.help_of(one), choices, *limits, default) if each)
    typed = one.spelled(COMMAND) if one.doors in ("all", COMMAND) else "–"
    json_name = one.outside if one.fits(JSON) else "–"
    return f"| `{typed}` | `{json_name}` | {TYPES.get(one.kind, 'str')} | {said} |".replace(
        "`–`", "–"
    )


def test_the_reference_is_made_from_the_table() -> None:
    text = "# Reference of verbs\n\nMade from `vaultmem.api.verbs`. Each parameter as it is typed, its name in JSON (socket, tools, Python), its kind, and what it is for.\n"
    for group in (one for one in GROUPS if one):
        text += f"\n## {group}\n"
        for name, verb in commands().items():
            if verb.group != group or verb.same_as:
                continue
            typed = f"maintain {name}" if verb.upkeep else name
            text += f"\n### vaultmem {typed}\n\n{verb.summary[0].upper()}{verb.summary[1:]}.\n"
            doors = [f"tool `memory_{name.replace('-', '_')}`"] if verb.tool else []
            doors += (
                [f"`Vault.{method_name(name, verb)}()`"]
                if verb.run and method_name(name, verb)
                else []
            )
            text += f"\n{', '.join(doors)[0].upper()}{', '.join(doors)[1:]}.\n" if doors else ""
            text += f"Answer: {verb.returns}.\n" if verb.returns else ""
            own = [
                param
                for param in verb.params
                if param.doors != "agent" and param.section != "hidden"
            ]
            if own:
                text += "\n| typed | JSON | kind | what |\n| --- | --- | --- | --- |\n"
                text += "".join(f"{row(one)}\n" for one in own)
    generated(ROOT / "docs" / "reference.md", text)


def test_the_manual_page_is_made_of_the_table(tmp_path: Path) -> None:
    """It names every command and option, `man` has nothing to say against it, and no line is cut off at 80 columns."""
    page = ROOT / "docs" / "vaultmem.1"
    generated(page, manual.page())
    plain = page.read_text("utf-8").replace("\\-", "-")
    for verb in every().values():
        typed = [one for one in verb.of(COMMAND) if not one.place and one.section != "hidden"]
        assert not verb.group or all(one.long in plain for one in typed)
    if not shutil.which("man"):
        return
    own = {"MANWIDTH": "80", "MANPAGER": "cat", "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)}
    ended = subprocess.run(
        ["man", "--warnings", "-l", page], capture_output=True, text=True, check=True, env={**os.environ, **own}
    )  # fmt: skip
    assert ended.stderr == ""
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_few_commands_come_first_and_every_text_property_has_a_parameter() -> None:
    assert sum(command.first for command in commands().values()) <= 12
    for name in ("write", "list", "search"):
        missing = set(TEXT_PROPERTIES) - {param.name for param in every()[name].params}
        assert not missing, f"vaultmem {name} has no parameter for it"
    (days,) = (param for param in find_verb("pending").params if param.name == "days")
    assert days.default == SOON, "a literal, as the table imports no values"


def test_nothing_is_declared_that_means_nothing() -> None:
    for name, verb in every().items():
        assert verb.__dict__.keys() <= vars(Verb).keys() | {"summary", "group", "params"}, name
        assert verb.group in GROUPS
        for param in verb.params:
            assert param.__dict__.keys() <= vars(Param).keys() | {"name", "help"}, (
                name,
                param.name,
            )
            assert param.doors in ("all", COMMAND, JSON, "agent"), (name, param.name)
            assert resolve(param.choices) is not None
            assert resolve(param.most) is None or isinstance(resolve(param.most), int | float)
        if verb.run:
            assert callable(resolve(verb.run)), name
        for function in filter(None, (verb.show, verb.remarks, verb.command)):
            assert callable(resolve_command(function)), name
        if verb.group and not verb.same_as:
            prints = verb.show or verb.command or '"changes"' in verb.returns
            assert prints, (name, "has no function that prints its answer")
        names = [one.outside for one in verb.of(JSON)]
        assert len(names) == len(set(names)), name


@pytest.mark.parametrize(
    ("at", "said"),
    [(COMMAND, "--min-confidence"), (JSON, '"min_confidence"'), (PYTHON, '"min_confidence"')],
)
def test_a_message_calls_a_parameter_as_it_is_called_at_the_door(at: str, said: str) -> None:
    with params.at_door(at), pytest.raises(UsageError, match="must be from 0 to 1") as error:
        params.of_verb("list").check({"min_confidence": 7})
    assert str(error.value).startswith(said)


def test_a_day_that_is_none_is_told_as_it_was_typed(vault: Path, opened: Vault) -> None:
    opened.write("tea")
    with pytest.raises(UsageError, match=r'^"since" must be a day'):
        opened.memories(since="someday")
    for words in (["list", "--from", "someday"], ["recall", "tea", "--as-of", "someday"]):
        ended = on(vault, *words)
        assert ended.code == 2
        assert f"{words[-2]} must be a day" in ended.err


def test_a_list_is_a_list_or_words_with_commas_and_a_choice_may_be_in_capitals() -> None:
    for tags in ("a, b", ["a", " b"], ("a", " b")):
        assert params.of_verb("write").check({"content": "x", "tags": tags})["tags"] == ["a", " b"]
    assert (
        params.of_verb("write").check({"content": "x", "category": "People"})["category"]
        == "people"
    )
    assert "category" not in params.of_verb("write").check({"content": "x", "category": ""})


def test_the_methods_take_what_has_a_place_in_order_and_all_else_by_name(opened: Vault) -> None:
    made = opened.write("tea at four", tags=(tag for tag in ("a", "b")))
    assert made["tags"] == ["a", "b"]
    assert opened.tag(made["id"], "c", "d", remove=["a"])["tags"] == ["b", "c", "d"]
    assert [memory["id"] for memory in opened.memories(tags="c")] == [made["id"]]
    with pytest.raises(TypeError):
        opened.link(made["id"], "x", "y")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match='did you mean "tags"'):
        opened.write("x", tag="a")  # type: ignore[call-arg]
    assert Methods.write.__doc__


def test_no_option_is_declared_elsewhere() -> None:
    files = (ROOT / "vaultmem").rglob("*.py")
    assert not [path for path in files if "add_argument(" in path.read_text("utf-8")]


def test_a_tool_takes_its_parameters_with_the_limits_of_its_verb() -> None:
    """What a tool declares itself is its default, and which of the parameters it has."""
    for name, verb in every().items():
        if not verb.tool:
            continue
        own = params.object_of(verb.of(JSON))["properties"]
        taken = params.of_tool(verb, verb.tool)["properties"]
        assert isinstance(own, dict)
        assert isinstance(taken, dict)
        for each, schema in taken.items():
            if each in own:
                for key in ("minimum", "maximum", "pattern"):
                    assert schema.get(key) == own[each].get(key), (name, each, key)


@functools.cache
def command_lines(name: str) -> st.SearchStrategy[list[str]]:
    """Words that fit a command, more or less."""
    one = commands()[name]
    option = st.sampled_from([
        spelling
        for param in (*one.of(COMMAND), *shared_options(one)) if not param.place
        for spelling in (param.long, param.flag, f"--no-{param.long[2:]}") if spelling
    ])  # fmt: skip
    values = st.sampled_from(["json", "text", "3", "0.5", "", "a b", "inbox", "-1", "-", "x=y"])
    words = st.one_of(
        option.map(lambda name: [name]),
        st.tuples(option, values).map(list),
        st.tuples(option, values).map(lambda pair: ["=".join(pair)]),
        st.lists(values, max_size=2),
        st.sampled_from([["--"], ["--help"], ["--unknown"], ["-k3"]]),
    )
    return st.lists(words, max_size=4).map(lambda parts: [word for part in parts for word in part])


class Parser(argparse.ArgumentParser):
    """Raises what is wrong."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


@functools.cache
def as_argparse_has_it(name: str) -> Parser:
    """The same options, for the parser of the standard library."""
    kinds: dict[str, dict[str, Any]] = {
        "flag": {"action": "store_true"}, "switch": {"action": argparse.BooleanOptionalAction},
        "repeated": {"action": "append"}, "maybe": {"nargs": "?", "const": "-"}, "int": {"type": int}, "float": {"type": float},
    }  # fmt: skip
    made = Parser(allow_abbrev=False, add_help=False)
    groups: dict[str, Any] = {}
    one = commands()[name]
    for param in (*one.of(COMMAND), *shared_options(one)):
        group: Any = made
        if param.section.startswith("("):
            group = groups.setdefault(param.section, made.add_mutually_exclusive_group())
        if param.place:
            place = "?" if param.place == "1" and not param.needed else param.place
            several = {} if place == "1" else {"nargs": place, "default": param.default}
            group.add_argument(param.name, **several)
        else:
            own = {"dest": param.name, "default": param.default, "required": param.needed}
            names = filter(None, [param.flag, param.long])
            group.add_argument(*names, **own, **kinds.get(param.kind, {}))
    return made


def options_first(name: str, words: list[str]) -> list[str]:
    """The words as argparse reads them: options first, then behind "--" all others, which may begin with a dash."""
    one = commands()[name]
    if not any(param.place for param in one.params):
        return words
    known = options_of(one)
    options: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        match = re.match(r"--[a-z][a-z-]*(?:=|\Z)|(-[a-z])(?:\d*|=.*)\Z", word)
        if word == "--":
            others += rest
        elif match and (match[1] is None or not one.excludes or match[1] in known):
            options.append(word)
            param = known.get(word)
            if param is None or param.kind not in ("flag", "switch"):
                options += itertools.islice(rest, "=" not in word and not word[-1].isdigit())
        else:
            others.append(word)
    return [*options, "--", *others] if others else options


@settings(max_examples=examples(1_000))
@given(st.sampled_from(sorted(commands())), st.data())
def test_words_are_read_as_argparse_reads_them(name: str, data: st.DataObject) -> None:
    words = data.draw(command_lines(name))
    # Of "--" there it takes several away, or wants a place; and an option with a blank behind "=" may be a word to it.
    is_odd = "--" in words or any(word.startswith("-") and " " in word for word in words)
    if asks_for_help(words) or is_odd:
        return
    try:
        wanted = vars(as_argparse_has_it(name).parse_args(options_first(name, words)))
    except UsageError:
        with pytest.raises(UsageError):
            parse(name, words)
        return
    assert read_words(commands()[name], words) == wanted, (name, words)
