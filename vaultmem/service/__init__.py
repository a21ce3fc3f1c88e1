"""The agent from outside: starting and stopping it, starting it at login, its log and its health."""
