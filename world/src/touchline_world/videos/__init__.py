"""Videos of the world, drawn once and kept."""
