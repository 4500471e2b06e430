"""Streams: who may publish, and how they are called."""
