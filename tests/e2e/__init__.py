"""The whole of Vigil on a real API server: operator, sidecar and session are processes, faults are injected by a proxy."""
