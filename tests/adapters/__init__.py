"""Tests of the adapters against real servers, files and processes."""
