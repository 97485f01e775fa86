"""Values only: what the layers hand to one another.

Everything here is frozen, compares by value and knows neither a clock nor IO, a log nor a library. Nothing that
depends on what is watched may enter: a kind's own types stay in the kind.
"""
