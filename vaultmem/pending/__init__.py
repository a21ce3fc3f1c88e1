"""pending.md and the review: what is asked there, how it is answered, what follows."""
