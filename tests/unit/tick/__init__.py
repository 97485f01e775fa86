"""One tick of one Watch over real, small implementations of the ports."""
