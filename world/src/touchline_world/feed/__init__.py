"""The football feed, in the form of API-Football v3."""
