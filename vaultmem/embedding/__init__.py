"""The models for embedding and reranking that run on this machine, and their files."""
