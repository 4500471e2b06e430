"""Uploads in parts: begun, filled by strangers, completed or ended."""
