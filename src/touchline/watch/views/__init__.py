"""Matches and goals as people read them: what is known, in words, and why something is missing."""
