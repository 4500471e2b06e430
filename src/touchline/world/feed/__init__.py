"""The football feed, in the wire format of API-Football v3."""
