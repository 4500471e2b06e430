"""Days of the world: scripts, the seeded generator, and what truly happened."""
