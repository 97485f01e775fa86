"""One Watch, one tick: gather what was read, decide, apply it. Nothing here knows a cluster, a file or a kind."""
