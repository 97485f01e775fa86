"""Tests of one layer at a time, without IO."""
