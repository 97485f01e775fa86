"""Layer 7, delivery: the inbox between the operator and the sessions.

It owns sessions, turns, the ladder, evidence and the ledger, and knows a wake by its id only: whether something is news
is the engine's to say. `turns`, `ladder`, `sessions`, `text` and `envelope` are pure. `service` holds the use cases
over the store, the clock, the evidence and the notifications; `app` is HTTP and nothing else. What is watched may not
enter here.
"""
