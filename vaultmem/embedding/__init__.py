"""The models that run here, for embeddings and reranking, and the files that they come in."""
