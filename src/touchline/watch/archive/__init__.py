"""The archive of each goal: duplicates merged, the best copy kept, ranked, one writer at a time."""
