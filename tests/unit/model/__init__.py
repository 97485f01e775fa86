"""The values."""
