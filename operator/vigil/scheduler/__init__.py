"""The work queue: which Watches are due, which of their subjects are read together, and when each is due again.

It knows Watches as enrolments and the world as ports; it knows no cluster, no file and no kind.
"""
