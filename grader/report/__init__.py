"""Telling: terminal, HTML, JSON and CSV, each a function of the Result record."""
