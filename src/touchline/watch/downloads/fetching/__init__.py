"""Fetching what strangers link to: only from public addresses, never more than was agreed."""
