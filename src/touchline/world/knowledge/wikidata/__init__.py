"""Wikidata as the day needs it: its teams, and what else bears their names."""
