"""The programs that run assistants: hooks, skills, MCP registration, and their own memories; and the verbs for them."""

from __future__ import annotations

from vaultmem.api.memory_verbs import BY, DRY_RUN, flag
from vaultmem.api.verbs import ASSISTANTS, NONE, SET_UP, Param, Verb

_COMMAND = Param("command", kind="long", doors="agent", needed=True)

VERBS = {
    "hook": Verb(
        "print session context for a start-up hook", ASSISTANTS,
        (
            Param("event", "the event of the program", place="1", choices=("session-start",), needed=True),
            Param(
                "harness", "the program that reads the answer: {known}", metavar="NAME", needed=True,
                known="vaultmem_assistants.programs:HARNESSES",
            ),
            Param("was", "ignored; earlier versions of connect wrote it", metavar="WORDS"),
            Param("prompt", "what the session is about", metavar="TEXT", default=""),
        ),
        agent=True, command="vaultmem_assistants.hook:run", never_fails=True,
    ),
    "setup": Verb(
        "find your notes and assistants, and connect them step by step", SET_UP,
        (
            Param("path", "the vault (default: choose from those on this machine)", place="?", metavar="PATH"),
            Param("yes", "run every step without asking", kind="flag", flag="-y"),
            flag("undo", "undo what setup did"),
            Param("service", "also start the agent at login, or not", kind="switch", default=True),
            DRY_RUN.but(help="show every step, and do nothing"),
        ),
        first=True, command="vaultmem_assistants.first_steps:run",
    ),
    "connect": Verb(
        "install or remove the integration with Claude Code, Codex and other assistants, or with Obsidian", ASSISTANTS,
        (
            Param(
                "harness", "{known}", place="1", metavar="PROGRAM", choices="vaultmem_assistants.programs:NAMES", needed=True,
                known="vaultmem_assistants.programs:NAMES",
            ),
            flag("remove", "remove the integration"),
            Param("instructions", "add a line to this instructions file instead of a hook", metavar="FILE"),
            Param("mcp", "also register the MCP server, or not (default: ask at a terminal)", kind="switch"),
            Param("remote", "register the HTTP door of another machine instead", metavar="URL"),
            Param(
                "token", "its token, or env:NAME for the variable that holds it (default: read from stdin)",
                metavar="TOKEN",
            ),
            DRY_RUN,
        ),
        first=True, command="vaultmem_assistants.connect:run",
    ),
    "tool-view": Verb("", NONE, (_COMMAND, BY), run="vaultmem_assistants.memory_tool:view", writes=False, method="-"),
    "tool-file": Verb("", NONE, (_COMMAND, BY), run="vaultmem_assistants.memory_tool:change", method="-"),
}  # fmt: skip
