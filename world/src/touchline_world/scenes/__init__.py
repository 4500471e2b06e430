"""Drawn single pictures of what a camera may see: football, other subjects, and screens that somebody filmed."""
