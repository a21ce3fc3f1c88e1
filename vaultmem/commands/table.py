"""The table of commands: their names, what they are for, and which of them only read."""

from __future__ import annotations

COMMANDS = {
    "search": "find notes by words, and by meaning",
    "sync": "bring the index up to date with the notes",
    "init": "look at a vault for the first time",
    "related": "notes that belong near a note",
    "backlinks": "what links to a note",
    "links": "what a note links to",
    "unresolved": "links that lead nowhere, and links that could mean several notes",
    "tasks": "open tasks with their dates",
    "pending": "what waits for you: due and overdue tasks, and what to review",
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
    "completion": "print a completion script for bash, zsh or fish",
}

# Their words are handed to the sync agent as they are, if one runs; they come back as finished text.
ASKED_OF_AGENT = ("search", "related", "backlinks", "links", "unresolved", "tasks", "why", "pending")  # fmt: skip
