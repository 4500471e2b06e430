"""Video in, facts and files out. Takes paths and descriptors, never a bucket or a table.

Invariant: what a stranger wrote is parsed only in `child`, inside `sandbox`; nobody else imports the codecs.
"""
