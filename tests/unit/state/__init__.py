"""The state document."""
