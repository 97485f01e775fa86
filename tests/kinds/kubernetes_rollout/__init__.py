"""The rollout kind's own tests: its reader against a loopback API server, and its corner cases."""
