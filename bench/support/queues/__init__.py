"""What the queue bench runs as processes: one file a queue, all with the same words (see actor.py)."""
