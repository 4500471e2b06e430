"""Days that are over, summed once: what long answers are made of."""
