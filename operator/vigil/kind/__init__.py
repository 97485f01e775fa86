"""All that the author of a kind sees: what a kind is, how it is found, and how it reaches its provider.

Nothing here knows a kind, and no kind needs to import anything of Vigil but this package and `vigil.model`.
"""
