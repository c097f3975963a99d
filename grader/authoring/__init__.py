"""Checking the exercise: drawing batches, measuring noise, validating the case suite."""
