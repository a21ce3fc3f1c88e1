"""The programs that run assistants: hooks, skills, MCP registration, what they remember."""
