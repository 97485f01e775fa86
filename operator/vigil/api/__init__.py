"""The outside form of a Watch: its resource, its manifests and its status, and the wire to the sidecar.

All that is text, JSON or a pydantic model of ours is parsed here and leaves as a value of the inner layers, or is
rendered here from such values. Nothing here does IO, reads a clock or keeps anything: `crd.py` alone writes files, when
it is run as a script.
"""
