"""The football feed: what it says, how it is asked, and how often it may be."""
