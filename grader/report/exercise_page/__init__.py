"""The page of a validation, for the author of an exercise."""
