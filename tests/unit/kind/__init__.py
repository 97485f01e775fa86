"""What the author of a kind sees."""
