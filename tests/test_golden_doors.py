"""Every door as it is today, each in one file: help, tools, the socket, and what commands print as JSON. docs/json.md
is made from the last one.

UPDATE_GOLDEN=1 writes the files; a difference in one of them is a change that somebody outside will see.
"""

import json
import re
import shlex
import textwrap
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli_run import ROOT, Ran, generated, golden, on, ran
from tests.stand_in_agent import StandIn
from vaultmem import now
from vaultmem.api.rpc import Request, RequestError, as_json
from vaultmem.api.toolbox import Toolbox
from vaultmem.api.verbs import GROUPS, commands
from vaultmem.commands.dispatch import methods
from vaultmem.commands.parsing import program
from vaultmem.errors import VaultmemError
from vaultmem.output import JSON_VERSION
from vaultmem.progress import Silent

_NAMES = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
_BY_DATA = re.compile(r"[\s./]|^[0-9a-f]{8}-")  # a key that is a path, an id or a text


class Shape:
    """The kinds of the values in one place."""

    def __init__(self) -> None:
        self._plain: list[str] = []
        self._seen = 0  # objects
        self._keys: dict[str, tuple[Shape, int]] = {}
        self._items: Shape | None = None

    def add(self, value: Any) -> None:
        """Take in one more value from there."""
        if isinstance(value, dict):
            self._seen += 1
            for key, one in value.items():
                name = "[key: string]" if _BY_DATA.search(key) else key
                inner, count = self._keys.get(name, (Shape(), 0))
                inner.add(one)
                self._keys[name] = inner, count + 1
        elif isinstance(value, list):
            self._items = self._items or Shape()
            for one in value:
                self._items.add(one)
        elif (name := _NAMES[type(value)]) not in self._plain:
            self._plain.append(name)

    def __str__(self) -> str:
        kinds = sorted(self._plain, key=lambda name: name == "null")
        if self._seen:
            pairs = (
                f"{key}{'?' if count < self._seen and key[0] != '[' else ''}: {inner}"
                for key, (inner, count) in self._keys.items()
            )
            kinds.append(f"{{{', '.join(pairs)}}}")
        if self._items is not None:
            inner_ = str(self._items)
            kinds.append(f"({inner_})[]" if " | " in inner_ and inner_[0] != "{" else f"{inner_}[]")
        return " | ".join(kinds) or "unknown"

    def wrapped(self) -> str:
        """The same in lines."""
        return textwrap.fill(
            str(self), 110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )


NOW = "2026-11-22T09:30:00+00:00"
_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_VOLATILE = re.compile(
    r'(?<="commit": ")[0-9a-f]+|vm-[0-9a-z]{6}|(?<=")[\w+/=]{99,}(?=")|(?<="score": )[\d.]+'
    r'|(?<="version": ")[\d.]+\+[0-9a-f]{8}'
    r'|(?<="search": )[\d.]+|(?<="similarity": )[\d.]+|(?<=similar meaning )[\d.]+'  # by either form of the model
)

STORY = """\
write Anne prefers trains to planes --category preferences --tags travel,rail --by claude
write The boiler was serviced on 3 March --title Boiler --project house --expires 30d --agent claude
write Anne prefers trains to planes
write Tea at four --dry-run
write x --category nowhere
write x --scope nobody
remind call Anne tomorrow at 3 --tags phone
remind water the plants --at "Saturday 9:00" --repeat "every week"
read Boiler
read Boiler --by codex
read nobody
list
list --category preferences --tags travel --from 2026-11-22 --limit 1
list --limit 0
list --min-confidence 7
list --from someday
tag Boiler heating --remove nothing
tag Boiler warm --dry-run
link Boiler "Anne prefers trains to planes"
unlink Boiler "Anne prefers trains to planes" --dry-run
reinforce "Anne prefers trains to planes"
upgrade Boiler --category knowledge
resolve-links
expire --limit 3
decay --dry-run
compress
consolidate --dry-run
dream --dry-run
set Tea.md rating 5
unset Tea.md rating --dry-run
search oolong
search boiler --agent claude
recall boiler --budget 100
recall boiler --as-of someday
recall boiler --score-threshold 7
pending
done nobody
snooze nobody --until friday
tasks
links Tea
related Tea
review
approve Boiler
conversations
add "I moved to Porto" --as-is
ingest --text "Anne lives in Lisbon and works as an architect there."
ingest
delete Boiler
list --deleted
restore Boiler
history --limit 3
undo --by claude
undo
export --category preferences
import -
jobs
"""
# Only for their shapes: their values differ on each machine or have their own transcripts.
MORE = """\
sync --no-embed
write "Anne prefers boats to ferries" --title Boats --decay reinforceable
write "Decision: we chose PostgreSQL over MySQL. See [[Boats]]." --title Database
reinforce Boats
link Boats Database
unlink Boats Database
resolve-links
dream --dry-run
dream --level 2
diff LAST
undo --last --dry-run
undo --last
status
doctor
init
sync --no-embed
related Tea
backlinks Tea --mentions
unresolved
unresolved --ambiguous
why oolong Tea
why "oolong hot" Kettle
search oolong
get Boiler
notify --dry-run
service install --dry-run
connect claude --mcp --dry-run
conversations show default
agent --list-tools
"""
_HEAD = """\
# JSON of commands

With `--json`, or `--format json`, a command prints one JSON value on stdout. Without it, every command prints text, also
into a pipe. This is version {version} of the format; `--version --json` prints the installed one.

Within a version, keys are only added: ignore those that you do not know. Removing a key, or changing its meaning, raises
the version. Search results omit empty values; memories in `list` and `read` have every key. Errors are `{{"error": "…"}}` on stderr, with exit
code 1, or 2 for a command typed wrongly; remarks on stderr stay text. `--batch` prints one JSON value on each line,
`export` one memory on each line; `hook`, `mcp` and the socket always use JSON ([format.md](format.md)).

The answers below are written as TypeScript types, with `?` for keys that are not always present. A test collects them from
real answers, so values that never occur in it are missing.
"""

REQUESTS: list[tuple[str, dict[str, object]]] = [
    ("ping", {"x": 1}),
    ("nothing", {}),
    ("agent", {}),
    ("index-writes", {}),
    ("sync", {"rebuild": 1}),
    ("jobs.run", {}),
    ("search", {"query": "oolong", "limit": 1}),
    ("search", {"query": "oolong", "limit": "1"}),
    ("search", {"qeury": "oolong"}),
    ("search", {"query": "oolong", "group": "word"}),
    ("search", {"query": "x", "open": True}),
    ("search", {"query": 5, "limit": True}),
    ("search", {"query": "x", "limit": True}),
    ("search", {"query": "x", "limit": 0}),
    ("search", {"query": "x", "semantic": 1}),
    ("search", {"query": "x", "min-confidence": "high"}),
    ("search", {"query": "x", "from": "yesterdayish"}),
    ("search", {"query": " "}),
    ("pending", {"days": -1}),
    ("jobs.run", {"name": "compare", "x": 1}),
    ("memory", {"verb": "list", "params": {"verb": "list"}}),
    ("links", {}),
    ("links", {"note": "Tea"}),
    ("tasks", {"all": True, "due": "someday"}),
    ("recall", {"query": "oolong", "notes": 1}),
    ("memory", {"verb": "nothing"}),
    ("memory", {"verb": "write", "params": {"content": "Anne likes tea", "tags": "a,b"}}),
    ("memory", {"verb": "write", "params": {"content": 7}}),
    ("memory", {"verb": "write", "params": {"contents": "x"}}),
    ("memory", {"verb": "list", "params": {"limit": 0}}),
    ("memory", {"verb": "list", "params": {"since": "someday"}}),
    ("memory", {"verb": "read", "params": {}}),
    ("memory", {"verb": "recall", "params": {"query": "tea", "budget": 10_000_000}}),
    ("tools/call", {"name": "memory_list", "arguments": {"limit": 0}}),
    ("tools/call", {"name": "memory_list", "arguments": {"category": "nowhere"}}),
    ("memory_write", {"content": "Anne likes oolong", "tags": ["tea"]}),
    ("memory_write", {"content": "x", "tags": "tea"}),
    ("memory_write", {"content": "x", "category": "poeple"}),
    ("memory_write", {"content": "x", "expires": "whenever"}),
    ("memory_search", {"query": " "}),
    ("memory_search", {"query": "a\0b"}),
    ("memory_search", {"query": "x", "tags": ["a", 1]}),
    ("memory_search", {"query": "x", "limit": 1e7}),
    ("memory_search", {"query": "x", "limit": 2.5}),
    ("memory_search", {"query": "oolong", "from": "someday"}),
    ("memory_recall", {"query": "oolong", "as_of": "someday"}),
    ("memory_done", {"id": "nobody"}),
    ("memory_nothing", {}),
    ("memory_read", {"id": "nobody"}),
    ("tools/call", {}),
    ("tools/call", {"name": "nothing"}),
    ("tools/call", {"name": "memory_list", "arguments": 7}),
    ("tools/call", {"name": "memory_list", "wrong": 7}),
    ("mcp", {"line": 7}),
    ("prompt", {"prompt": " "}),
]  # fmt: skip


@pytest.fixture
def small(vault: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two notes and a fixed clock."""
    (vault / "Tea.md").write_text(
        "---\nrating: 4\n---\n# Tea\n\nOolong from the hill. [[Pot]]\n\n- [ ] buy tea 📅 2026-11-23\n"
    )
    (vault / "Pot.md").write_text("# Pot\n\nA brown pot for [[Tea]].\n")
    monkeypatch.setenv("VAULTMEM_NOW", NOW)
    at = datetime.fromisoformat(NOW).timestamp()
    monkeypatch.setattr(now, "seconds", lambda: at)
    monkeypatch.setenv("COLUMNS", "100")
    assert on(vault, "sync", "--no-embed").code == 0
    return vault


def steady(text: str, vault: Path) -> str:
    """A text without the parts that differ each time."""
    ids: dict[str, str] = {}
    text = _ID.sub(lambda found: ids.setdefault(found[0], f"ID-{len(ids) + 1}"), text)
    for id_, name in ids.items():
        text = text.replace(id_[:8], name)
    return _VOLATILE.sub("#", text.replace(str(vault), "VAULT"))


def test_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    each = [("--help",), ("help", "all"), ("maintain",), *((name, "--help") for name in commands())]
    golden(
        "help.txt", "\n".join(f"$ vaultmem {' '.join(words)}\n{ran(*words).out}" for words in each)
    )


def test_tools() -> None:
    box = Toolbox(plain=True)
    found = {"listed": box.listed(), "checked": {tool.name: tool.schema for tool in box.tools()}}
    golden("tools.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def test_the_socket(small: Path) -> None:
    answer = methods(StandIn(small))
    lines = []
    for method, params in REQUESTS:
        try:
            reply: object = {"result": answer(Request(method, dict(params), Silent()))}
        except (RequestError, VaultmemError) as error:
            reply = {"error": as_json(error)}
        lines.append(
            f"{method} {json.dumps(params)}\n  {json.dumps(reply, ensure_ascii=False, default=str)}\n"
        )
    golden("socket.txt", steady("".join(lines), small))


def test_commands(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    shapes: dict[str, Shape] = {}
    begun = now.seconds()
    for minute, line in enumerate(STORY.splitlines(), start=1):
        monkeypatch.setattr(now, "seconds", lambda at=begun + 60 * minute: at)
        ended = on(small, *shlex.split(line), "--json")
        err = "".join(f"! {one}\n" for one in ended.err.splitlines())
        shown.append(
            f"$ vaultmem {line}\n{err}{ended.out}{f'exit {ended.code}' if ended.code else ''}\n"
        )
        learn(shapes, line, ended)
    golden("commands.txt", steady("".join(shown), small))
    (small / "Broken.md").write_text("---\na: [\n---\n")
    parts = "".join(f"## Oolong {n}\n\n{'Some of the oolong. ' * 80}\n\n" for n in range(2))
    (small / "Kettle.md").write_text(f"#hot oolong in the pot for Tea, by [[Nobody]]\n\n{parts}")
    for line in MORE.splitlines():
        last = on(small, "history", "--json").data["history"][0]["commit"]
        ended = on(small, *shlex.split(line.replace("LAST", last)), "--json")
        assert ended.code == 0, (line, ended.err)
        learn(shapes, line, ended)
    generated(ROOT / "docs" / "json.md", json_page(shapes))


def learn(shapes: dict[str, Shape], line: str, ended: Ran) -> None:
    """Take in the output of a command."""
    if ended.code == 0 and not line.startswith("export"):
        shapes.setdefault(line.removeprefix("maintain ").split()[0], Shape()).add(ended.data)


def json_page(shapes: dict[str, Shape]) -> str:
    """docs/json.md."""
    text = _HEAD.format(version=JSON_VERSION)
    for group in filter(None, GROUPS):
        own = [name for name, one in commands().items() if one.group == group and name in shapes]
        text += f"\n## {group}\n" if own else ""
        for name in own:
            text += f"\n### {program(name)}\n\n```ts\n{shapes[name].wrapped()}\n```\n"
    return text
