"""Who did what: every administrative act and every change of an artifact's state, kept for good."""
