"""Drivers of the session fold over files: vectorised batch, and incremental with a state that survives its process."""
