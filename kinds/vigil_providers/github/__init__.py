"""GitHub: its hosts and names, one client for GraphQL and REST over a guarded transport, and what its refusals mean."""
