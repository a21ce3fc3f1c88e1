"""The verbs on memories: write, file, archive, look back, maintain."""
