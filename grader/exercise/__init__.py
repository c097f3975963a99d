"""What is asked: exercises and cases in YAML, array recipes, the pack."""
