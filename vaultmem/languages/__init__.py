"""English, Chinese and Japanese: times, facts, categories."""
