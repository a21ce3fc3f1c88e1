"""A local web page on what assistants remember: to see it, correct it, and decide. It calls the verbs of the table and
owns no logic."""
