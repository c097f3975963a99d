"""Reports for a terminal, by Rich."""
