"""The agent from outside: started, stopped, at login, its log and its health."""
