"""Fingerprints of videos: what they are, how they are written down, compared and found again."""
