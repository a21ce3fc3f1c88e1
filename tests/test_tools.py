"""The tools: what each does, what it takes, what it may not; hooks, events, limits, sessions, third parties."""

import contextlib
import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from tests.tables import each_case
from tests.tool_run import OURS, box, call, opened
from vaultmem import Vault
from vaultmem.api import memory_tools, params
from vaultmem.api.tool import Call, UnknownToolError
from vaultmem.api.toolbox import Toolbox, for_tools
from vaultmem.api.verbs import every
from vaultmem.embedding.wordpieces import count
from vaultmem.errors import NoteNotFoundError, UsageError, VaultmemError

__all__ = ["box", "opened"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")


def test_a_tool_without_a_text_of_its_own_answers_as_its_client_may_see(opened: Vault) -> None:
    run = memory_tools.answer_of("read")
    mine, private = opened.write("the spare key is here"), opened.write("the code of the safe")
    opened.set(private["path"], "private", True)
    outcome = run(opened, Call("memory_read", {"id": mine["id"]}, "tester"))
    assert json.loads(outcome.text.split("```")[1])["content"] == "the spare key is here"
    with pytest.raises(NoteNotFoundError):
        run(opened, Call("memory_read", {"id": private["id"]}, "tester"))


def test_the_list_is_worth_its_tokens(box: Toolbox) -> None:
    """The tokenizer that is shipped counts every bracket and quote as one; those of language models take half of it."""
    text = json.dumps({"tools": box.listed()}, separators=(",", ":"))
    assert len(text) < 3_600, (
        "each session pays for it: a tool more has to be worth another one's words"
    )
    assert count(text) <= 1_600
    words = text.translate(str.maketrans(dict.fromkeys('{}[]":,', " ")))
    assert count(words) < 650
    assert all(len(tool.description) < 80 for tool in box.tools())


_TOOLS = {tool.name: tool for tool in memory_tools.TOOLS}
_values = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.lists(st.text(max_size=3) | st.integers(), max_size=3)
    | st.sampled_from(["inbox", "people", "semantic"]) | st.dictionaries(st.text(max_size=2), st.integers(), max_size=1)
)  # fmt: skip


@settings(max_examples=examples(150))
@given(data=st.data(), name=st.sampled_from(OURS))
def test_what_passes_fits_the_schema_by_the_book(data: st.DataObject, name: str) -> None:
    wanted = dict(_TOOLS[name].schema)
    names = st.sampled_from([*wanted["properties"], "other"])  # type: ignore[misc]
    arguments = data.draw(st.dictionaries(names, _values, max_size=4))
    by_the_book = jsonschema.Draft202012Validator({**wanted, "additionalProperties": False})
    try:
        found = params.check_object(wanted, arguments)
    except UsageError:
        if by_the_book.is_valid(arguments):
            assert any(
                isinstance(argument, str) and not argument.strip()
                for argument in arguments.values()
            ) or any("\0" in str(argument) for argument in arguments.values())
    else:
        assert by_the_book.is_valid(found)
        given = {key: value for key, value in arguments.items() if value is not None}
        assert found.items() >= given.items()
        whole = [name for name in found if wanted["properties"][name].get("type") == "integer"]
        assert {type(found[name]) for name in whole} <= {int}  # 3.0 counts as one
        assert {key: wanted["properties"][key]["default"] for key in found.keys() - given} == {
            key: found[key] for key in found.keys() - given
        }


def test_what_is_unlisted_is_taken_what_is_listed_checked(box: Toolbox, opened: Vault) -> None:
    exposed = {f"memory_{name.replace('-', '_')}" for name, one in every().items() if one.tool}
    assert exposed == {tool.name for tool in box.tools()}
    for tool, told in zip(box.tools(), box.listed(), strict=True):
        wanted: Any = tool.schema
        shown: Any = told["inputSchema"]
        assert shown["properties"].keys() == wanted["properties"].keys() - {*tool.quiet}
        assert shown.get("required") == wanted.get("required")
        assert not {*tool.quiet} & {*wanted.get("required", ())}
        jsonschema.Draft202012Validator.check_schema(shown)
    quiet = {"query": "x", "top_k": 3, "types": ["semantic"]}
    assert call(box, opened, "memory_recall", **quiet).data["count"] == 0
    with pytest.raises(UsageError, match="must be one of inbox, organized"):
        call(box, opened, "memory_list", phase="indox")


@settings(max_examples=examples(100))
@given(data=st.data(), name=st.sampled_from(OURS))
def test_the_list_promises_no_less_than_is_checked(data: st.DataObject, name: str) -> None:
    """Whatever the validator takes of the parameters that are listed, the listed schema takes, too."""
    tool = _TOOLS[name]
    shown: Any = params.compact_schema(tool.schema, tool.quiet)
    names = st.sampled_from([*shown["properties"]])
    arguments = data.draw(st.dictionaries(names, _values, max_size=4))
    with contextlib.suppress(UsageError):
        assert jsonschema.Draft202012Validator(shown).is_valid(
            params.check_object(tool.schema, arguments)
        )


def test_days_are_called_from_and_to_other_names_are_taken(box: Toolbox, opened: Vault) -> None:
    call(box, opened, "memory_write", content="Ann drinks oolong", category="people")
    opened.sync()
    search = {"query": "oolong", "notes": False}
    for name, arguments in (("memory_list", {}), ("memory_search", search)):
        listed: Any = next(one for one in box.listed() if one["name"] == name)
        assert {"from", "to"} <= listed["inputSchema"]["properties"].keys()
        assert not {"since", "until"} & listed["inputSchema"]["properties"].keys()
        for first, last in (("from", "to"), ("since", "until")):
            found = [
                call(box, opened, name, **arguments, **days).data["count"]
                for days in ({first: "2001-01-01"}, {last: "2001-01-01"}, {first: "0001-01-01", last: "9999-12-31"},
                             {first: "9999-12-31"}, {last: "0001-01-01"})
            ]  # fmt: skip
            assert found == [1, 0, 1, 0, 0], (name, first)
        with pytest.raises(UsageError, match='"since" is the same as "from"'):
            call(box, opened, name, **arguments, **{"from": "2001-01-01", "since": "2001-01-01"})
        with pytest.raises(UsageError, match='"from"'):
            call(box, opened, name, **arguments, since="noon-ish")


@each_case("given, meant",
    [
        ("memory_serch", "memory_search"), ("memory_searhc", "memory_search"), ("memory_dome", "memory_done"),
        ("search", "memory_search"), ("memory_smart", "memory_smart_search"), ("Memory_Read", "memory_read"),
        ("memory_nope", ""), ("memory_", ""), ("m", ""), ("", ""), ("memory_get", ""), ("send_mail", ""), ("memory_x", ""),
    ],
)  # fmt: skip
def test_an_unknown_tool_is_told_the_nearest_and_no_far_fetched_one(
    box: Toolbox, opened: Vault, given: str, meant: str
) -> None:
    with pytest.raises(UnknownToolError) as error:
        call(box, opened, given)
    said = f"did you mean {meant}?" if meant else "; there are memory_write, "
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("no pending item has the id 'x'; vaultmem pending lists what is pending", "no pending item has the id 'x'"),
        ("too large; keep it as a note, or have vaultmem ingest --text cut it into memories", "too large"),
        ("gone; vaultmem list --phase inbox", "gone"), ("plain", "plain"), ("", ""),
        ("no note is called 'vaultmem tea';\n  see Tea", "no note is called 'vaultmem tea'; see Tea"),
    ],
)  # fmt: skip
def test_clients_of_tools_are_not_told_what_to_type(said: str, told: str) -> None:
    assert for_tools(said) == told


def test_no_tool_tells_what_to_type(box: Toolbox, opened: Vault) -> None:
    wrong = (
        ("memory_done", {"id": "vm-zzzzzz"}), ("memory_read", {"id": "nobody"}), ("memory_tag", {"id": "nobody"}),
        ("memory_write", {"content": "x" * 300_000}), ("memory_list", {"from": "noon-ish"}), ("memory_list", {"tags": [" "]}),
        ("memory_write", {"content": "x", "scope": "nowhere"}), ("memory_list", {"category": "nothing"}),
    )  # fmt: skip
    for name, arguments in wrong:
        said = ""
        try:
            call(box, opened, name, **arguments)
        except VaultmemError as error:
            said = str(error)
        assert not re.search("vaultmem | --|e[+]0", f" {said}"), said
