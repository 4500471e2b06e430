"""The archive: each goal's videos, the best copy of each, ranked."""
