"""What becomes of the turns of conversations: notes, facts, summaries. It asks models; the verbs below ask none."""
