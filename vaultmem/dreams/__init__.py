"""Dreams: what is near, the same, replaced or contradicted, and what follows from it."""
