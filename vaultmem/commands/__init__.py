"""One file per command: its arguments, what it runs, how the answer looks."""
