"""What a note says and how it is edited: front matter, properties, blocks, by the rules of its editor."""
