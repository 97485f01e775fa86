"""The conformance suite over every registered kind, and each kind's own tests."""
