"""The real programs, connected by `vaultmem connect`, offline, with a scripted model: what reaches the model. And the
official clients of the Model Context Protocol in TypeScript, at the HTTP door.

They come from npm (.ci/package.json); TESTS_HARNESSES names the folder with their commands:

    mkdir ~/harnesses && cp .ci/package.json ~/harnesses && npm install --prefix ~/harnesses
    export TESTS_HARNESSES=~/harnesses/node_modules/.bin

Without it these tests are skipped; where it is set, as in CI, a program that is missing is a failure. Cursor has no
package. Whatever else than the model they would talk to is behind a proxy that is not there.
"""

import html
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli_run import on, process
from tests.conftest import fill
from tests.http_run import Door, door
from tests.proxy_run import proxied
from tests.scripted_llm import ScriptedLlm
from tests.scripted_replies import Arguments, Reply, raw, text, tool_calls
from vaultmem.api.memory_tools import TOOLS

__all__ = ["door"]  # fixtures

FOLDER = os.environ.get("TESTS_HARNESSES", "")
pytestmark = [
    pytest.mark.real_harness,
    pytest.mark.skipif(not FOLDER, reason="TESTS_HARNESSES names no folder with the programs"),
]
PROGRAMS = ("claude", "codex", "gemini", "copilot", "opencode")
ALL = pytest.mark.parametrize("name", PROGRAMS)
PATIENCE = 120.0  # seconds
FACT = "The boiler is serviced by Ines"


TEXT = "All done."


class Model(ScriptedLlm):
    """What it calls, and what it received; Gemini is its own protocol beside those of `ScriptedLlm`."""

    paths = (*ScriptedLlm.paths, "generateContent", "streamGenerateContent")

    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        super().__init__()
        self._tool, self._arguments = tool, arguments
        self.otherwise = self._answer

    def begin(self) -> None:
        """Forget what it received, and restart the script."""
        self.forget()
        self.otherwise = self._answer

    @property
    def offered(self) -> list[dict[str, Any]]:
        """The requests that offer tools: others make titles and the like."""
        return [asked.data for asked in self.requests if asked.body and offers(asked.data)]

    def _answer(self, asked: Arguments) -> Reply:
        call = next((one for one in offers(asked.data) if one.endswith(self._tool)), "")
        if call:
            self.otherwise = lambda asked: self._encoded(asked, "")
        return self._encoded(asked, call)

    def _encoded(self, asked: Arguments, call: str) -> Reply:
        if "enerateContent" not in asked.path:
            return tool_calls((call, self._arguments)) if call else text(TEXT)
        part = {"functionCall": {"name": call, "args": self._arguments}} if call else {"text": TEXT}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}  # fmt: skip
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        whole = json.dumps({"candidates": [candidate], "usageMetadata": usage})
        return raw(f"data: {whole}\n\n".encode(), Content_Type="text/event-stream")


def offers(asked: dict[str, Any]) -> list[str]:
    """The names of the tools in a request, with their namespace if any."""
    names: list[str] = []
    for tool in asked.get("tools") or []:
        inner = tool.get("functionDeclarations") or (
            tool.get("tools") if tool.get("type") == "namespace" else None
        )
        space = f"{tool['name']}::" if tool.get("type") == "namespace" else ""
        names += [
            space + str(one.get("name") or one.get("function", {}).get("name", ""))
            for one in inner or [tool]
        ]
    return names


def words(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from words(one)


class Run(NamedTuple):
    """How a program is started for one prompt, with the model at a URL: its settings, variables and words."""

    settings: Mapping[str, str]  # files in the home folder, written before it is connected
    environ: Mapping[str, str]
    words: tuple[str, ...]


def run_of(name: str, url: str) -> Run:
    """What each of them needs to talk to our model and nobody else."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": {"m": {}},
    }
    return {
        "claude": Run(
            {},
            {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false"},
            ("--allowedTools", "mcp__vaultmem__memory_search", "-p", "Hello"),
        ),
        "codex": Run(
            {".codex/config.toml": f'model = "m"\nmodel_provider = "s"\n\n[model_providers.s]\nname = "s"\nbase_url = "{url}/v1"\nenv_key = "KEY"'},
            {"KEY": "x"},
            ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "Hello"),
        ),
        "gemini": Run(
            {".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True}})},
            {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "x", "GEMINI_TELEMETRY_ENABLED": "false"},
            ("--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", "Hello"),
        ),
        "copilot": Run(
            {},
            {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_MODEL": "gpt-4.1"},
            ("--allow-all-tools", "-p", "Hello"),
        ),
        "opencode": Run(
            {
                ".config/opencode/opencode.json": json.dumps({"model": "s/m", "provider": {"s": provider}}, indent=2),
                # As after its first start, when it fetches what plugins may import; ours imports none of that.
                ".config/opencode/package-lock.json": json.dumps({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1"}}}}),
                ".config/opencode/node_modules/none": "",
            },
            {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
            ("run", "Hello"),
        ),
    }[name]  # fmt: skip


class Seen(NamedTuple):
    """What a session has left."""

    requests: list[dict[str, Any]]  # that offer tools
    out: str
    err: str


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with a preference, which the hook shows, and a fact, which it does not."""
    folder = tmp_path_factory.mktemp("vault")
    (folder / ".obsidian").mkdir()
    for own, category in (("Prefers trains to planes", "preferences"), (FACT, "knowledge")):
        assert on(folder, "write", own, "--category", category).code == 0
    assert process("sync", "--vault", str(folder)).code == 0
    return folder


@pytest.fixture(scope="module")
def sessions(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """One session of each program, in a home where all are connected."""
    words = ("--mcp", "--vault", str(vault))
    return sessions_in(tmp_path_factory.mktemp("home"), dict.fromkeys(PROGRAMS, words))


@pytest.fixture(scope="module")
def far_sessions(door: Door, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """One session of each program, in a home without a vault, where all are connected to a door."""
    url, token = f"{door.url}/mcp/home", door.tokens["claude"]
    named = {name: token if name in ("claude", "codex") else "env:TOKEN" for name in PROGRAMS}
    words = {name: ("--remote", url, "--token", one) for name, one in named.items()}
    return sessions_in(tmp_path_factory.mktemp("far"), words, TOKEN=token)


def offline(home: Path, **more: str) -> dict[str, str]:
    """The environment of a program that can talk to our model and to nobody else."""
    return {
        "HOME": str(home), "PATH": f"{Path(shutil.which('node') or 'node').parent}:/usr/bin:/bin", "TERM": "dumb",
        "CI": "1", "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1",
        **more,
    }  # fmt: skip


def sessions_in(
    home: Path, connecting: Mapping[str, tuple[str, ...]], **more: str
) -> dict[str, Seen]:
    environ = offline(home, VAULTMEM_STATE=os.environ["VAULTMEM_STATE"], **more)
    found: dict[str, Seen] = {}
    with Model("memory_search", {"query": "boiler"}) as model:
        runs = {name: run_of(name, model.url.removesuffix("/v1")) for name in PROGRAMS}
        for run in runs.values():
            fill(home, run.settings)
        for name in PROGRAMS:
            ended = process(
                "connect", name, *connecting[name], HOME=str(home), XDG_CONFIG_HOME="", **more
            )
            assert ended.code == 0, ended.err
        for name, run in runs.items():
            model.begin()
            found[name] = session(name, run, model, environ, home)
    return found


def session(name: str, run: Run, model: Model, environ: dict[str, str], home: Path) -> Seen:
    program = Path(FOLDER) / name
    assert program.exists(), f"{program} is missing"
    folder = home / "project"
    folder.mkdir(exist_ok=True)
    ended = subprocess.run(
        [str(program), *run.words], cwd=folder, env={**environ, **run.environ}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return Seen(model.offered, ended.stdout, ended.stderr)


@ALL
def test_the_model_is_told_what_the_hook_says(
    sessions: dict[str, Seen], vault: Path, name: str
) -> None:
    told = html.unescape("\n".join(words(sessions[name].requests[0])))
    assert re.search(r"\[PROCEDURAL\] \(\d{4}-\d\d-\d\d\) Prefers trains to planes", told)
    lines = told.partition("Commands for a shell:\n")[2].splitlines()[:4]
    verbs = [shlex.split(line, comments=True)[1] for line in lines]
    assert verbs == "search write done pending".split()
    assert all(f"--vault {shlex.quote(str(vault))} " in line for line in lines)
    assert f"--by {name} " in lines[1]


@ALL
def test_the_model_is_offered_the_skill_once(sessions: dict[str, Seen], name: str) -> None:
    seen = sessions[name]
    told = html.unescape("\n".join(words(seen.requests[0])))
    assert told.count("long-term memory in their notes") == 1
    assert "conflict" not in (seen.out + seen.err).lower()


@ALL
def test_the_model_is_offered_all_tools_and_one_works(sessions: dict[str, Seen], name: str) -> None:
    seen = sessions[name]
    offered = [offer for offer in offers(seen.requests[0]) if "vaultmem" in offer]
    assert sorted(re.sub(r".*?(?=memory_)", "", one, count=1) for one in offered) == sorted(
        tool.name for tool in TOOLS
    )
    first, second = ("\n".join(words(request)) for request in seen.requests)
    assert FACT not in first
    assert FACT in second
    assert TEXT in seen.out


# --- through the proxy

QUESTION = "Who services the boiler?"


@pytest.mark.parametrize("name", ["claude", "codex", "copilot", "opencode"])
def test_a_question_through_the_proxy_gets_memories_and_is_stored_once(
    vault: Path, tmp_path: Path, name: str
) -> None:
    """And nothing else is: no title, no summary, no list of agents."""
    with (
        Model("no_tool", {}) as model,
        proxied(vault, model.url, conversation=name, warm=True) as proxy,
    ):
        run = run_of(name, proxy.url.removesuffix("/v1"))
        fill(tmp_path, run.settings)
        run = run._replace(words=(*run.words[:-1], QUESTION))
        seen = session(name, run, model, offline(tmp_path), tmp_path)
        turns = [
            (turn.user, turn.assistant)
            for turn in proxy.ended_turns(1)
            if turn.conversation == name
        ]
    assert TEXT in seen.out, seen.err
    assert FACT in "\n".join(words(seen.requests[0]))
    assert turns == [(f'"{QUESTION}"' if name == "opencode" else QUESTION, TEXT)]


# --- another machine's memory


@ALL
def test_through_a_door_a_tool_works_with_a_token(far_sessions: dict[str, Seen], name: str) -> None:
    seen = far_sessions[name]
    offered = [offer for offer in offers(seen.requests[0]) if "vaultmem" in offer]
    assert len(offered) == len(TOOLS)
    first, second = ("\n".join(words(request)) for request in seen.requests)
    assert "Ansah" not in first
    assert "Mr Ansah services the boiler at home" in second
    assert TEXT in seen.out


CLIENT = """
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
(async () => {
  const [url, token] = process.argv.slice(1);
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const answer = await client.callTool({ name: "memory_recall", arguments: { query: "who services the boiler?" } });
  await transport.terminateSession();
  await client.close();
  console.log(JSON.stringify({ tools: tools.map((one) => one.name), text: answer.content[0].text }));
})();
"""


def node(*words: str, code: int = 0) -> str:
    environ = {**os.environ, "NODE_PATH": str(Path(FOLDER).parent)}
    ended = subprocess.run(
        [*words], env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ended.returncode != 0) == (code != 0), ended.stderr
    return ended.stdout if not code else ended.stderr


def test_the_typescript_sdk_gets_along(door: Door) -> None:
    seen = json.loads(node("node", "-e", CLIENT, f"{door.url}/mcp/home", door.tokens["claude"]))
    assert sorted(seen["tools"]) == sorted(tool.name for tool in TOOLS)
    assert "Ansah" in seen["text"]
    assert "401" in node("node", "-e", CLIENT, f"{door.url}/mcp/home", "vmt_0_0", code=1)


def test_the_inspector_gets_along(door: Door) -> None:
    program = [str(Path(FOLDER) / "mcp-inspector"), "--cli", f"{door.url}/mcp/home"]
    head = ["--transport", "http", "--header", f"Authorization: Bearer {door.tokens['reader']}"]
    listed = json.loads(node(*program, *head, "--method", "tools/list"))["tools"]
    assert {"memory_search", "memory_recall"} <= {one["name"] for one in listed}
    call = ["--method", "tools/call", "--tool-name", "memory_search", "--tool-arg", "query=boiler"]
    assert "Boiler.md" in node(*program, *head, *call)
