"""The pages of one submission."""
