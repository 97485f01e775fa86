"""Tests of what the kinds of one provider share."""
