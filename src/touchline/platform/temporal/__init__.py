"""Durable workflows by Temporal. The client is imported where it is used: it takes a second to load."""
