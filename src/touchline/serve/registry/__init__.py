"""The business registry: whose an artifact is and what it is called."""
