"""Finds videos of a goal on the social network: words, searches, what was found, and what is tried next."""
