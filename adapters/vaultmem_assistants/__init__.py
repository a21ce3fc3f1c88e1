"""The programs that run assistants: hooks, skills, MCP registration, and their own memories."""
