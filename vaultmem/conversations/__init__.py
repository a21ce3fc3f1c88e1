"""What becomes of the turns of conversations: notes, facts, summaries. Models are asked here and nowhere below."""
