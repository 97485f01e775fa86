"""A demonstration with no cluster: `make demo`."""
