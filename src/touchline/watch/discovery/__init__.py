"""Finds the videos of a goal: what to search for, where, and what was found."""
