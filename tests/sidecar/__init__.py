"""The sidecar: its pure rules, its store, its API with the real clients, and what is left after a crash."""
