"""kopf at work: the informer and the resync, in a thread and an event loop of their own.

kopf tells what it sees and decides nothing: its handlers hand immutable messages over and neither patch, nor return a
value, nor raise. The only package that imports kopf, beside the wiring.
"""
