"""Deletes purged videos, with rows and objects, and the history of jobs that ended long ago."""
