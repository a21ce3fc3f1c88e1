"""Tools for assistants: what each does, how it is asked, and the one dispatcher behind all doors."""
