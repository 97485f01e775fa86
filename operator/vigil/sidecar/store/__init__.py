"""Where the sidecar keeps what it knows: a port whose methods are whole transactions, and its implementation in SQL.

State is never only in memory: what a method returned is on disk, and what a crash interrupted did not happen.
"""
