"""What GitHub Actions reads from a step."""
