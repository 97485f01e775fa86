"""The whole of Vigil on a real API server: its parts are processes, and a proxy injects the faults."""
