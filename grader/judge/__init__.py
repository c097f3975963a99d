"""Deciding: outcomes against expectations, relations, score."""
