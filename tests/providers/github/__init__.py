"""Tests of how GitHub is reached."""
