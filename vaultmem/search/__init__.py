"""What finds notes and memories: queries, ranking, search, recall, related notes."""
