"""The decision: state in, state out."""
