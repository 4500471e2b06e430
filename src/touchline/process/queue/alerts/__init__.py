"""Watches the queue: samples of depth and age, and alerts when something is beyond its threshold."""
