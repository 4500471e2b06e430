"""Watches live football: matches, their goals, every goal's videos, and the best copy of each."""
