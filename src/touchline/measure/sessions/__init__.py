"""From workflow events to session facts: what was read, what it is evidence of, and what follows from it."""
