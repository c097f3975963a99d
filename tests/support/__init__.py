"""Fixtures that several groups of tests share."""
