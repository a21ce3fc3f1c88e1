"""The toolbox: limits, hooks, events, sessions and third parties."""

import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_mcp_process import plug_in
from tests.tool_run import OURS, box, call, opened
from vaultmem import Vault
from vaultmem.api import rpc
from vaultmem.api import session as events
from vaultmem.api.session import Event, Session
from vaultmem.api.tool import Annotations, Call, Outcome, Tool, TooManyCallsError
from vaultmem.api.toolbox import MOST_TEXT, Limiter, Toolbox
from vaultmem.errors import NoteNotFoundError, VaultmemError

__all__ = ["box", "opened"]  # fixtures

pytestmark = pytest.mark.usefixtures("without_a_model")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_so_many_writes_in_a_minute_and_no_more(opened: Vault) -> None:
    clock = Clock()
    box = Toolbox(plain=True, limiter=Limiter(clock))
    for _ in range(Limiter.WRITES):
        _fails(box, opened, "a")
    with pytest.raises(TooManyCallsError, match="60 a minute are allowed; try again in 1 s"):
        box.call(opened, Call("memory_delete", {"id": "x"}, "a"))
    assert box.call(opened, Call("memory_pending", {}, "a")).data["count"] == 0, "reading goes on"
    _fails(box, opened, "b")  # a neighbour is not held up
    clock.now += 1.1
    _fails(box, opened, "a")


def _fails(box: Toolbox, vault: Vault, client: str) -> None:
    with pytest.raises(NoteNotFoundError):
        box.call(vault, Call("memory_delete", {"id": "nobody"}, client))


@given(
    steps=st.lists(
        st.tuples(st.floats(0, 30), st.integers(0, 40), st.integers(0, 3), st.booleans()),
        max_size=200,
    )
)
def test_nobody_gets_more_than_the_limits(
    steps: list[tuple[float, int, int, bool]],
) -> None:
    clock = Clock()
    limiter = Limiter(clock)
    taken: Counter[tuple[str, bool]] = Counter()
    for wait, name, peer, is_write in steps:
        clock.now += wait / 100
        names = [f"process {peer}", f"name {name}"]
        try:
            for _ in range(20):
                limiter.take(names, writes=is_write)
                taken.update((each, kind) for each in (*names, "") for kind in {False, is_write})
        except TooManyCallsError:
            continue
    for (each, kind), count_ in taken.items():
        assert count_ <= _limits_of(each)[kind] * (1 + clock.now / 60) + 1e-6
    clock.now += 60
    limiter.take(["process 0", "name 0"], writes=True)  # after a minute of quiet nobody is held up


def _limits_of(name: str) -> dict[bool, int]:
    if name:
        return {False: Limiter.CALLS, True: Limiter.WRITES}
    return {False: Limiter.ALL_CALLS, True: Limiter.ALL_WRITES}


def test_a_refused_call_uses_up_no_limit() -> None:
    limiter = Limiter(Clock())
    for _ in range(Limiter.WRITES):
        limiter.take(["process 1", "name a"], writes=True)
    for process in ("process 1", "process 2"):  # of the second, the name alone has used up its own
        for _ in range(Limiter.CALLS):
            with pytest.raises(TooManyCallsError, match="too many writes"):
                limiter.take([process, "name a"], writes=True)
    for _ in range(Limiter.CALLS - Limiter.WRITES):
        limiter.take(["process 1", "name a"], writes=False)
    for _ in range(Limiter.WRITES):
        limiter.take(["process 2", "name b"], writes=True)
    with pytest.raises(TooManyCallsError, match="too many calls"):
        limiter.take(["process 1", "name a"], writes=False)


def test_many_names_are_not_remembered_for_ever() -> None:
    clock = Clock()
    limiter = Limiter(clock)
    for number in range(5_000):
        clock.now += 0.1
        limiter.take([str(number)], writes=True)
    assert len(limiter._buckets) <= Limiter.MOST_CLIENTS


def test_a_hook_that_fails_is_an_event_and_nothing_else(box: Toolbox, opened: Vault) -> None:
    def fails(*_: object) -> Any:
        raise ZeroDivisionError("so\nwhat")

    box.before(fails)
    box.after(fails)
    box.on_event(fails)
    heard = events_of(box)
    assert call(box, opened, "memory_list").text == "no memories"
    kinds = [(event.kind, event.data.get("hook")) for event in heard]
    assert {("error", "before"), ("error", "after"), (events.TOOL_END, None)} <= {*kinds}


def test_a_subscription_has_the_events_for_which_there_is_room(box: Toolbox, opened: Vault) -> None:
    with box.subscribe() as heard, box.subscribe(1) as slow:
        call(box, opened, "memory_list")
    call(box, opened, "memory_list")
    both = [[one.get_nowait().kind for _ in range(one.qsize())] for one in (heard, slow)]
    assert both == [[events.TOOL_START, events.TOOL_END], [events.TOOL_START]]


def events_of(box: Toolbox) -> list[Event]:
    heard: list[Event] = []
    box.on_event(heard.append)
    return heard


def test_a_session_tells_its_begin_end_and_knowledge(box: Toolbox, opened: Vault) -> None:
    seen: list[str] = []
    box.before(lambda asked: seen.append(asked.context))
    call(box, opened, "memory_write", content="Ann drinks oolong", category="people")
    seen.clear()
    heard = events_of(box)
    with Session(box, opened, "mine") as session:
        block = session.inject_context("oolong")
        first, second = session.call("memory_list"), session.call("memory_list")
    kinds = [event.kind for event in heard]
    assert block.startswith("<memory>")
    assert seen == [block, block]
    assert first.text == f"{block}\n\n{second.text}"
    assert kinds[0] == events.AGENT_START
    assert kinds[-1] == events.AGENT_END
    assert kinds.count(events.TOOL_START) == kinds.count(events.TOOL_END) == 2


GOOD = """
from vaultmem.api.tool import Annotations, Outcome, Tool
def run(vault, call):
    return Outcome(call.text("say"), {"by": call.client})
tool = Tool("echo_it", "Echo", "Says it.", {"type": "object", "properties": {"say": {"type": "string"}}}, Annotations(), run)
def hooked(box):
    box.after(lambda call, said: said._replace(text=said.text + "!"))
clash = tool._replace(name="memory_write")
nothing = 7
"""


def test_third_parties_add_tools_and_what_cannot_be_loaded_is_named(
    tmp_path: Path,
    opened: Vault,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "installed"
    folder.mkdir()
    plug_in(folder, "good", GOOD)
    (folder / "good_plugin-1.0.dist-info" / "entry_points.txt").write_text(
        textwrap.dedent("""\
        [vaultmem.tools]
        a = good_plugin:tool
        c = good_plugin:hooked
        d = good_plugin:clash
        e = good_plugin:nothing
        f = good_plugin:missing
        g = not_there_at_all:tool
        """)
    )
    for odd in ("a-1.dist-info/entry_points.txt", "b-1.dist-info"):  # neither can be read
        (folder / odd).mkdir(parents=True)
    (folder / "c-1.egg-info").write_text("")
    monkeypatch.syspath_prepend(str(folder))
    box = Toolbox()
    assert [tool.name for tool in box.tools()] == [*OURS, "echo_it"]
    said = call(box, opened, "echo_it", say="hello")
    assert (said.text, said.data) == ("hello!", {"by": "tester"})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    for name, line in zip("defg", lines, strict=True):
        assert line.startswith(f"vaultmem: the tool {name} (")
        assert "is left out: " in line
    assert "a tool named memory_write already exists" in lines[0]


def test_a_tool_that_fails_is_one_line_a_long_text_is_cut(box: Toolbox, opened: Vault) -> None:
    def fails(_vault: Vault, _call: Call) -> Outcome:
        raise KeyError("x")

    def runs(_vault: Vault, _call: Call) -> Outcome:
        return Outcome("x" * 3_000_000, {"all": "x" * 3_000_000})

    box.add(Tool("bad", "Bad", "Fails.", {"type": "object"}, Annotations(), fails))
    box.add(Tool("big", "Big", "Says much.", {"type": "object"}, Annotations(), runs))
    heard = events_of(box)
    with pytest.raises(VaultmemError, match="bad failed: KeyError"):
        call(box, opened, "bad")
    assert [event.kind for event in heard] == [events.TOOL_START, events.ERROR]
    said = call(box, opened, "big")
    assert len(said.text) < MOST_TEXT + 100
    assert said.data["cut"] is True
    assert len(rpc.to_json(said.data)) < 1_000_000
