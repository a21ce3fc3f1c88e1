"""One file a command: its arguments, what it runs, how the answer looks."""
