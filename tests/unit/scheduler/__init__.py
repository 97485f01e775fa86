"""The queue, on a clock that only the test moves."""
