"""Answers about sessions: how they began, how fast, where, and what one of them went through."""
