"""The programs that run assistants: what their start-up hooks read, and where they are installed."""
