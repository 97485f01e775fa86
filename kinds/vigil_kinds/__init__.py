"""The kinds that come with Vigil: one folder each, with the same file names in every one.

A kind imports `vigil.kind`, `vigil.model`, itself and third parties; never a sibling, and nothing else of Vigil. It is
registered in the entry-point group `vigil.kinds` and nowhere else. How to write one is in `docs/writing-a-kind.md`.
"""
