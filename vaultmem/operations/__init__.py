"""What verbs do with memories: write, file, forget, look back, keep up."""
