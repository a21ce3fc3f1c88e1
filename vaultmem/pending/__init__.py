"""pending.md and the review: questions to the person, their answers, and the effects."""
