"""The page of a demonstration: a reference at work."""
