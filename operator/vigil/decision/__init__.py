"""The decision: pure functions from what was read and what is remembered to a verdict and the next memory.

Nothing here reads a clock, waits, logs or knows a kind. `decide.decide` runs the chain over one tick; `outcomes`
applies what became of a wake; `rearm` what a new generation of the Watch means for its memory.
"""
