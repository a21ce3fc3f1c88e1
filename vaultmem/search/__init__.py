"""Finding notes and memories: queries, ranking, search, related notes."""
