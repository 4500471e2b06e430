"""Clips: parts of originals, cut exactly and stored as files of their own."""
