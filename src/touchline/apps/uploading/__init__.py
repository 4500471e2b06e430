"""Uploading a file from the command line: the same door, the same calls and the same resuming as the page has."""
