"""Durable workflows by Temporal. Import the client where it is used: it takes a second to load."""
