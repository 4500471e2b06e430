"""Recordings that go on: what nodes report of them, when they end and as what."""
