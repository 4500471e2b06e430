"""ClickHouse: one client for every server, and the process that owns the embedded engine.

The owner must stay small, so nothing is imported here.
"""
