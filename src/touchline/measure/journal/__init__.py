"""Events as they were delivered: every record, what it was read as, and where it belongs."""
