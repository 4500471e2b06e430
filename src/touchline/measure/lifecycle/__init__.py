"""What is known of artifacts' lives: the state now and the history, from their events."""
