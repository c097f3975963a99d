"""Remembering: a journal of results in SQLite."""
