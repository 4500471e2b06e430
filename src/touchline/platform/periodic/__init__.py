"""Periodic work: idempotent, bounded passes that any process may take over."""
