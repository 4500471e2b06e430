"""Artifacts: their states, and what moves them."""
