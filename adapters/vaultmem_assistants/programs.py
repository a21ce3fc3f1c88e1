"""The supported harnesses: the files and formats of their hooks and MCP servers, and the output they expect from a
hook.

Sources, read in November 2026 (hooks; skills; MCP servers of a person):
Claude Code   https://docs.claude.com/en/docs/claude-code/hooks (additionalContext), /skills, /mcp (~/.claude.json)
Codex         https://developers.openai.com/codex/hooks (those of a person are to be trusted once), /skills, /mcp;
              openai/codex codex-rs/hooks/schema/generated/session-start.command.output.schema.json
Gemini CLI    https://geminicli.com/docs/hooks/reference (in milliseconds), /cli/using-agent-skills, /tools/mcp-server
Copilot CLI   https://docs.github.com/en/copilot/reference/hooks-reference, and customize-copilot/create-skills and
              /add-mcp-servers in its how-tos; github.com/github/copilot-cli/issues/2142: 1.0.8 dropped the context
Cursor        https://cursor.com/docs/agent/hooks (they run in ~/.cursor: best name the vault), /skills, /context/mcp
opencode      https://opencode.ai/docs/plugins (no hooks, but plugins add to the prompt), /skills, /mcp-servers

Skills (a folder with a SKILL.md, https://agentskills.io): all read ~/.agents/skills, wherever their own folder is, but
for Claude Code, which reads ~/.claude/skills. Two of one name are a conflict, as Gemini CLI says.
tests/test_real_harnesses.py runs all of them but Cursor, which has no package.
"""

from __future__ import annotations

import os

from vaultmem.text.values import TYPE_CHECKING, value

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, object]
SKILL = os.path.join("vaultmem", "SKILL.md")


@value
class Remote:
    """How a harness configures an MCP server at a URL with a token."""

    fields: Json  # further fields of an entry
    url: str = "url"
    headers: str = "headers"
    variable: str = "${%s}"  # how a header refers to an environment variable
    by_name: str = ""  # or the field for the variable's name, where headers cannot

    def entry(self, url: str, token: str) -> Json:
        """The entry of a server. For a token env:NAME it names the variable."""
        kind, _, name = token.partition(":")
        if kind == "env" and self.by_name:
            return {**self.fields, self.url: url, self.by_name: name}
        value = self.variable % name if kind == "env" else token
        return {**self.fields, self.url: url, self.headers: {"Authorization": f"Bearer {value}"}}


@value
class Servers:
    """The file and format of a harness's MCP servers."""

    file: str  # in the folder of the harness
    key: str  # the name of the object or table that holds them
    fields: Json  # further fields of an entry
    remote: Remote
    one_list: bool = False  # whether the command is a list with its arguments
    above: bool = False  # whether the file is beside that folder, unless a variable moves it

    def entry(self, command: list[str]) -> Json:
        """The entry of a server that is started by a command."""
        if self.one_list:
            return {**self.fields, "command": command}
        return {**self.fields, "command": command[0], "args": command[1:]}

    def alternatives(self) -> frozenset[str]:
        """The fields that say where a server is; an entry has those of one form."""
        remote = self.remote
        return frozenset(("command", "args", remote.url, remote.headers, remote.by_name))


@value
class Harness:
    """One program that runs assistants."""

    name: str
    title: str
    home: str  # its folder, relative to the home folder
    file: str  # of its hooks, in that folder
    servers: Servers
    variable: str = (
        ""  # the environment variable that moves that folder; "" where none is documented
    )
    event: str = ""  # of the hook; "" if the file is our plugin
    grouped: bool = False  # whether hooks are in groups with a matcher: {"hooks": [...]}
    command: str = "command"  # the field that holds the command
    fields: Mapping[str, object] = {}  # further fields of a hook
    scaffold: Mapping[str, object] = {}  # what a new file needs besides its hooks
    advice: str = ""  # what else a person must do
    own_skills: bool = False  # whether it ignores the shared folder of skills
    context: str = ""  # the field of its hook's answer; "" for the form of Claude Code

    def _config_home(self) -> str:
        return os.environ.get(self.variable, "") if self.variable else ""

    def folder(self) -> str:
        """Its folder."""
        return self._config_home() or os.path.join(os.path.expanduser("~"), self.home)

    def path(self) -> str:
        """The path of its file of hooks."""
        return os.path.join(self.folder(), self.file)

    def servers_path(self) -> str:
        """The path of its file of MCP servers."""
        if self.servers.above and not self._config_home():
            return os.path.join(os.path.expanduser("~"), self.servers.file)
        return os.path.join(self.folder(), self.servers.file)

    def skill(self) -> str:
        """The path of our skill for it."""
        if self.own_skills:
            return os.path.join(self.folder(), "skills", SKILL)
        return os.path.join(os.path.expanduser("~"), ".agents", "skills", SKILL)

    def is_connected(self) -> bool:
        """Whether our hook is in its settings."""
        from vaultmem_assistants import hooks

        return hooks.is_connected(self)

    def hook(self, command: str) -> Json:
        """The entry of a hook."""
        return {**self.fields, self.command: command}

    def entry(self, command: str) -> Json:
        """The entry for the list of the event."""
        return {"hooks": [self.hook(command)]} if self.grouped else self.hook(command)

    def answer(self, context: str) -> Json:
        """The output that it expects from its hook."""
        if self.context:
            return {self.context: context}
        output = {"hookEventName": self.event, "additionalContext": context}
        return {"hookSpecificOutput": output}


_COMMAND: Json = {"type": "command"}
HARNESSES = {
    one.name: one
    for one in (
        Harness(
            "claude", "Claude Code", ".claude", "settings.json",
            Servers(".claude.json", "mcpServers", {"type": "stdio"}, Remote({"type": "http"}), above=True),
            variable="CLAUDE_CONFIG_DIR", event="SessionStart", grouped=True, fields={**_COMMAND, "timeout": 10},
            own_skills=True,
        ),
        Harness(
            "codex", "Codex", ".codex", "hooks.json",
            Servers(
                "config.toml", "mcp_servers", {},
                Remote({}, headers="http_headers", by_name="bearer_token_env_var"),
            ),
            variable="CODEX_HOME", event="SessionStart", grouped=True, fields={**_COMMAND, "timeout": 10},
            advice="Codex runs the hook after you trust it: type /hooks in Codex",
        ),
        Harness(
            "gemini", "Gemini CLI", ".gemini", "settings.json",
            Servers("settings.json", "mcpServers", {}, Remote({}, url="httpUrl")),
            event="SessionStart", grouped=True, fields={"name": "vaultmem", **_COMMAND, "timeout": 10_000},
        ),
        Harness(
            "copilot", "Copilot CLI", ".copilot", "hooks/vaultmem.json",
            Servers(
                "mcp-config.json", "mcpServers", {"type": "local", "tools": ["*"]},
                Remote({"type": "http", "tools": ["*"]}),
            ),
            variable="COPILOT_HOME", event="sessionStart", command="bash", fields={**_COMMAND, "timeoutSec": 10},
            scaffold={"version": 1}, context="additionalContext",
            advice="older versions of Copilot CLI run it without telling the assistant; see --instructions",
        ),
        Harness(
            "cursor", "Cursor", ".cursor", "hooks.json",
            Servers("mcp.json", "mcpServers", {}, Remote({}, variable="${env:%s}")),
            event="sessionStart", fields={"timeout": 10}, scaffold={"version": 1}, context="additional_context",
            advice="Cursor runs its hook in ~/.cursor, wherever the session is",
        ),
        Harness(
            "opencode", "opencode", ".config", "opencode/plugins/vaultmem.js",
            Servers(
                "opencode/opencode.json", "mcp", {"type": "local", "enabled": True},
                Remote({"type": "remote", "enabled": True}, variable="{env:%s}"), one_list=True,
            ),
            variable="XDG_CONFIG_HOME", context="additionalContext",
            advice="when opencode first runs a plugin, it fetches a package of its own from npm, and waits for that",
        ),
    )
}  # fmt: skip

# Programs that are connected by packages of the entry points vaultmem.editors.
EDITORS = ("obsidian",)
NAMES = (*HARNESSES, *EDITORS)
ASSISTANTS = tuple(HARNESSES.values())  # of the entry point vaultmem.assistants
