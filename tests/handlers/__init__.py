"""kopf's thread, what takes its messages in, and the life of the process."""
