"""Tests of the adapters of the API server, on a real one."""
