"""The videos of goals, as artifacts."""
