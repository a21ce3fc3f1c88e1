"""A local web page to view, correct and decide on what assistants remember. It only calls verbs and has no logic of
its own."""
