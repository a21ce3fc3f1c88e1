"""The table of commands: their names, what they are for, and which of them only read."""

from __future__ import annotations

COMMANDS = {
    "search": "find notes by words, and by meaning",
    "recall": "what is known about a question, within a budget of tokens",
    "write": "write a memory",
    "create": "write a memory (the same as write)",
    "remind": "set a reminder: what, when, how often",
    "ingest": "take in what other programs keep, or make memories of a long text",
    "read": "show one memory",
    "get": "show one memory (the same as read)",
    "list": "list memories, the newest first",
    "delete": "move a memory to the archive",
    "restore": "bring a memory back from the archive",
    "tag": "add tags to a memory, or remove them",
    "upgrade": "file a memory of the inbox under a category, or all that are read often",
    "link": "link two memories, both ways",
    "unlink": "take the links between two memories away",
    "resolve-links": "link memories where one names another in its text",
    "reinforce": "begin the decay of a memory anew",
    "dream": "think the memories over: file, merge, link, look across them",
    "expire": "archive memories that end, or stayed in the inbox too long",
    "decay": "archive memories that have faded and were never read",
    "consolidate": "expire, decay, upgrade and merge, once",
    "review": "accept or reject what dreams propose for your own notes",
    "history": "what was done to memories, when, by whom and why",
    "diff": "show what one entry of the history changed",
    "undo": "take back what was done to memories",
    "sync": "bring the index up to date with the notes",
    "init": "look at a vault for the first time",
    "export": "write memories as lines of JSON",
    "import": "take memories in from lines of JSON",
    "related": "notes that belong near a note",
    "backlinks": "what links to a note",
    "links": "what a note links to",
    "unresolved": "links that lead nowhere, and links that could mean several notes",
    "tasks": "open tasks with their dates",
    "pending": "what waits for you: due and overdue tasks, and what to review",
    "done": "say that something that waits is done",
    "drop": "say that nothing will come of something that waits",
    "snooze": "let something that waits sleep until a day or a time",
    "notify": "tell the desktop of what is due, once",
    "why": "explain a note's place in the results of a query",
    "status": "what is indexed, and how fresh it is",
    "doctor": "find what is wrong, and how to mend it",
    "serve": "run the sync agent in the foreground",
    "start": "run the sync agent in the background",
    "stop": "end the sync agent",
    "restart": "end the sync agent and start it again",
    "service": "start the sync agent at login (systemd, launchd)",
    "jobs": "what runs by itself, when, and how it went; run one now",
    "demo": "the whole story on a scratch copy of the sample vault",
    "hook": "what an assistant should know when it wakes, as its start-up hook reads it",
    "agent": "call the tools for assistants: JSON on stdin",
    "mcp": "serve the tools over the Model Context Protocol",
    "connect": "have an assistant ask vaultmem when it starts, or no longer",
    "completion": "print a completion script for bash, zsh or fish",
}

# Other names of commands.
SAME_AS = {"create": "write", "get": "read"}

# Their words are handed to the sync agent as they are, if one runs; they come back as finished text.
ASKED_OF_AGENT = (
    "search", "related", "backlinks", "links", "unresolved", "tasks", "why", "pending", "read", "get", "list", "hook",
    "recall",
)  # fmt: skip
