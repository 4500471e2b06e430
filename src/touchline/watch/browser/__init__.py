"""The role that searches the social network with a real browser and the user's own session."""
