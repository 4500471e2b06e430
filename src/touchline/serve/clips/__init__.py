"""Clips: parts of videos that are artifacts of their own."""
