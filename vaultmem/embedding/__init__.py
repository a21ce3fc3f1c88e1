"""The embedding and reranking models that run on this machine, and their files."""
