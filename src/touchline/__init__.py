"""Touchline: a self-hosted video operations platform."""

__version__ = "0.1.0"
