"""Dreams: which memories are similar, the same, replaced or contradicted, and what to do about it."""
