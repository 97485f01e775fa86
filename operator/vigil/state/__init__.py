"""The state document of a Watch: one door in and one door out.

`codec` turns a State into the document and back, `packing` makes a long one fit, `migrations` brings an older one to
the current version. A document that cannot be used is quarantined and never guessed at. Nothing here reads or writes
anything.
"""
