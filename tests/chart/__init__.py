"""Tests of the chart, its alert rules and the image's recipe."""
