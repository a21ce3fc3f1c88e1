"""What is known of each harness: where its hooks are written down, in which form, and what it reads from one.

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

from vaultmem.text.values import value

Json = dict[str, object]
SKILL = os.path.join("vaultmem", "SKILL.md")


@value
class Remote:
    """How a harness writes down an MCP server at a URL that wants a token."""

    fields: Json  # what an entry says beside the rest
    url: str = "url"
    headers: str = "headers"
    variable: str = "${%s}"  # how a header names a variable of the environment
    by_name: str = ""  # the field that names the variable instead, where headers cannot

    def entry(self, url: str, token: str) -> Json:
        """The entry of a server. A token env:NAME stays where it is: the entry names the variable."""
        kind, _, name = token.partition(":")
        if kind == "env" and self.by_name:
            return {**self.fields, self.url: url, self.by_name: name}
        value = self.variable % name if kind == "env" else token
        return {**self.fields, self.url: url, self.headers: {"Authorization": f"Bearer {value}"}}


@value
class Servers:
    """Where a harness keeps its MCP servers, and in which form."""

    file: str  # in the folder of the harness
    key: str  # the object or table that holds them, by name
    fields: Json  # what an entry says beside its command
    remote: Remote
    one_list: bool = False  # the command is a list with its arguments
    above: bool = False  # the file is beside that folder, where no variable moves it

    def entry(self, command: list[str]) -> Json:
        """The entry of a server that is started by a command."""
        if self.one_list:
            return {**self.fields, "command": command}
        return {**self.fields, "command": command[0], "args": command[1:]}

    def alternatives(self) -> frozenset[str]:
        """The fields that say where a server is, of which an entry has those of one form."""
        remote = self.remote
        return frozenset(("command", "args", remote.url, remote.headers, remote.by_name))


@value
class Harness:
    """One program that runs assistants."""

    name: str
    title: str
    home: str  # its folder, below the person's own
    # Of the environment, which puts that folder elsewhere; "" where none is documented.
    variable: str
    file: str  # in that folder
    event: str  # "" where the file is a plugin, which is all ours
    grouped: bool  # hooks lie in groups with a matcher: {"hooks": [...]}
    command: str  # the field that holds the command
    fields: Json  # what a hook says beside its command
    scaffold: Json  # what a new file must say beside its hooks
    advice: str  # what a person has to do beside it
    servers: Servers
    own_skills: bool = False  # it does not read the folder of skills that the others share
    context: str = ""  # the field of its hook's answer; "" for the form of Claude Code

    def _config_home(self) -> str:
        return os.environ.get(self.variable, "") if self.variable else ""

    def folder(self) -> str:
        """Its folder."""
        return self._config_home() or os.path.join(os.path.expanduser("~"), self.home)

    def path(self) -> str:
        """Where its hooks are written down."""
        return os.path.join(self.folder(), self.file)

    def servers_path(self) -> str:
        """Where its MCP servers are written down."""
        if self.servers.above and not self._config_home():
            return os.path.join(os.path.expanduser("~"), self.servers.file)
        return os.path.join(self.folder(), self.servers.file)

    def skill(self) -> str:
        """Where it reads our skill."""
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
        """What is put into the list of the event."""
        return {"hooks": [self.hook(command)]} if self.grouped else self.hook(command)

    def answer(self, context: str) -> Json:
        """What it reads from its hook."""
        if self.context:
            return {self.context: context}
        output = {"hookEventName": self.event, "additionalContext": context}
        return {"hookSpecificOutput": output}


_COMMAND: Json = {"type": "command"}
HARNESSES = {
    one.name: one
    for one in (
        Harness(
            "claude", "Claude Code", ".claude", "CLAUDE_CONFIG_DIR", "settings.json", "SessionStart", True, "command",
            {**_COMMAND, "timeout": 10}, {}, "",
            Servers(".claude.json", "mcpServers", {"type": "stdio"}, Remote({"type": "http"}), above=True),
            own_skills=True,
        ),
        Harness(
            "codex", "Codex", ".codex", "CODEX_HOME", "hooks.json", "SessionStart", True, "command",
            {**_COMMAND, "timeout": 10}, {}, "Codex runs it once you have trusted it: /hooks in Codex",
            Servers(
                "config.toml", "mcp_servers", {},
                Remote({}, headers="http_headers", by_name="bearer_token_env_var"),
            ),
        ),
        Harness(
            "gemini", "Gemini CLI", ".gemini", "", "settings.json", "SessionStart", True, "command",
            {"name": "vaultmem", **_COMMAND, "timeout": 10_000}, {}, "",
            Servers("settings.json", "mcpServers", {}, Remote({}, url="httpUrl")),
        ),
        Harness(
            "copilot", "Copilot CLI", ".copilot", "COPILOT_HOME", "hooks/vaultmem.json", "sessionStart", False, "bash",
            {**_COMMAND, "timeoutSec": 10}, {"version": 1},
            "older versions of Copilot CLI run it without telling the assistant; see --instructions",
            Servers(
                "mcp-config.json", "mcpServers", {"type": "local", "tools": ["*"]},
                Remote({"type": "http", "tools": ["*"]}),
            ),
            context="additionalContext",
        ),
        Harness(
            "cursor", "Cursor", ".cursor", "", "hooks.json", "sessionStart", False, "command",
            {"timeout": 10}, {"version": 1},
            "Cursor runs it in ~/.cursor; without --vault the vault of your settings is meant",
            Servers("mcp.json", "mcpServers", {}, Remote({}, variable="${env:%s}")),
            context="additional_context",
        ),
        Harness(
            "opencode", "opencode", ".config", "XDG_CONFIG_HOME", "opencode/plugins/vaultmem.js", "", False, "",
            {}, {}, "when opencode first runs a plugin, it fetches a package of its own from npm, and waits for that",
            Servers(
                "opencode/opencode.json", "mcp", {"type": "local", "enabled": True},
                Remote({"type": "remote", "enabled": True}, variable="{env:%s}"), one_list=True,
            ),
            context="additionalContext",
        ),
    )
}  # fmt: skip

# Programs that a package of the entry points vaultmem.editors is connected with.
EDITORS = ("obsidian",)
NAMES = (*HARNESSES, *EDITORS)
ASSISTANTS = tuple(HARNESSES.values())
