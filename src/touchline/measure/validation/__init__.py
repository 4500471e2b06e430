"""Whether the facts keep what they promise, asked of the tables themselves."""
