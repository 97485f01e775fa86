"""Vigil keeps watch over anything outside a cluster and spends an agent's turn only when it has usefully changed.

Seven layers, from the subject to the session; imports point down, and import-linter holds them to it:

1. subject and registry (`vigil.kind`, and `subject.py` of each kind): what is watched, under which stable name;
2. probe (`read.py` and `observe.py` of each kind): one plural read a group and tick, and what it means;
3. observation (`vigil.model`): named entries, values only;
4. decision (`vigil.decision`): pure, from entries and memory to a verdict and the next memory;
5. persistence (`vigil.state` and a store in `vigil.adapters`): the memory as one versioned document;
6. driver (`vigil.handlers` in a cluster, `vigil run` without one, both over `vigil.scheduler` and `vigil.tick`);
7. delivery (`vigil.sidecar`): one turn to one session, and what became of it.

Layers 3 to 7 do not know what is watched.
"""
