"""What the kinds of one provider share: how it is reached, and what its answers mean. One folder a provider.

A provider knows no kind and observes nothing: it imports `vigil.kind`, `vigil.model` and third parties, as a kind does.
"""
