"""Media by signed, expiring addresses: who may see what, where it lies, and its bytes."""
