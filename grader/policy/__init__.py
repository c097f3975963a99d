"""Without which helpers: static analysis of a submission's source."""
