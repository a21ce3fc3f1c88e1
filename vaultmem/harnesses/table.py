"""What is known of each harness: where its hooks are written down, in which form, and what it reads from one.

Sources, read in November 2026:
Claude Code   https://docs.claude.com/en/docs/claude-code/hooks (settings files, matchers, additionalContext)
Codex         https://developers.openai.com/codex/hooks (hooks.json; hooks of a person's own are to be trusted once),
              openai/codex codex-rs/hooks/schema/generated/session-start.command.output.schema.json
Gemini CLI    https://geminicli.com/docs/hooks/reference (timeouts are milliseconds)
Copilot CLI   https://docs.github.com/en/copilot/reference/hooks-reference (user-level hook files);
              https://github.com/github/copilot-cli/issues/2142: CLI 1.0.8 ran the hook and dropped its context
Cursor        https://cursor.com/docs/agent/hooks (hooks of a person run in ~/.cursor, so the vault is best named)

Skills of a person (a folder with a SKILL.md, https://agentskills.io):
Claude Code   https://docs.claude.com/en/docs/claude-code/skills (~/.claude/skills)
Codex         https://developers.openai.com/codex/skills ($HOME/.agents/skills, wherever CODEX_HOME is; Gemini CLI,
              Copilot CLI and Cursor read that folder, too, so a skill says whose name it bears)
Gemini CLI    https://geminicli.com/docs/cli/using-agent-skills (~/.gemini/skills)
Copilot CLI   https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/create-skills (~/.copilot/skills)
Cursor        https://cursor.com/docs/skills (~/.cursor/skills; it reads those of Claude Code, too)
"""

from __future__ import annotations

import os

from vaultmem.core.values import value

Json = dict[str, object]


@value
class Harness:
    """One program that runs assistants."""

    name: str
    title: str
    home: str  # its folder, below the person's own
    variable: (
        str  # of the environment, which puts that folder elsewhere; "" where none is documented
    )
    file: str  # in that folder
    event: str
    grouped: bool  # hooks lie in groups with a matcher: {"hooks": [...]}
    command: str  # the field that holds the command
    fields: Json  # what a hook says beside its command
    scaffold: Json  # what a new file must say beside its hooks
    advice: str  # what a person has to do beside it
    skills: str = (
        ""  # the folder of skills below the person's own, where it is not in that of the program
    )

    def folder(self) -> str:
        """Its folder."""
        moved = os.environ.get(self.variable, "") if self.variable else ""
        return moved or os.path.join(os.path.expanduser("~"), self.home)

    def path(self) -> str:
        """Where its hooks are written down."""
        return os.path.join(self.folder(), self.file)

    def skills_folder(self) -> str:
        """Where it reads the skills of a person."""
        if self.skills:
            return os.path.join(os.path.expanduser("~"), self.skills)
        return os.path.join(self.folder(), "skills")

    def hook(self, command: str) -> Json:
        """The entry of a hook."""
        return {**self.fields, self.command: command}

    def entry(self, command: str) -> Json:
        """What is put into the list of the event."""
        return {"hooks": [self.hook(command)]} if self.grouped else self.hook(command)


_COMMAND: Json = {"type": "command"}
HARNESSES = {
    one.name: one
    for one in (
        Harness(
            "claude", "Claude Code", ".claude", "CLAUDE_CONFIG_DIR", "settings.json", "SessionStart", True, "command",
            {**_COMMAND, "timeout": 10}, {}, "",
        ),
        Harness(
            "codex", "Codex", ".codex", "CODEX_HOME", "hooks.json", "SessionStart", True, "command",
            {**_COMMAND, "timeout": 10}, {}, "Codex runs it once you have trusted it: /hooks in Codex",
            ".agents/skills",
        ),
        Harness(
            "gemini", "Gemini CLI", ".gemini", "", "settings.json", "SessionStart", True, "command",
            {"name": "vaultmem", **_COMMAND, "timeout": 10_000}, {}, "",
        ),
        Harness(
            "copilot", "Copilot CLI", ".copilot", "COPILOT_HOME", "hooks/vaultmem.json", "sessionStart", False, "bash",
            {**_COMMAND, "timeoutSec": 10}, {"version": 1},
            "older versions of Copilot CLI run it without telling the assistant; see --instructions",
        ),
        Harness(
            "cursor", "Cursor", ".cursor", "", "hooks.json", "sessionStart", False, "command",
            {"timeout": 10}, {"version": 1},
            "Cursor runs it in ~/.cursor; without --vault the vault of your settings is meant",
        ),
    )
}  # fmt: skip


def answer(name: str, context: str) -> Json:
    """What the harness reads from its hook."""
    if name == "copilot":
        return {"additionalContext": context}
    if name == "cursor":
        return {"additional_context": context}
    told = {"hookEventName": "SessionStart", "additionalContext": context}
    return {"hookSpecificOutput": told}
