"""The engines that look at pictures, seen from outside: one port for text, one for what a picture shows.

Invariant: nothing here imports an image library; the work is done in one process that starts on demand.
"""
