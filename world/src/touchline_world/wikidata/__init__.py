"""Wikidata: the teams of the day, and what one may mistake for them."""
