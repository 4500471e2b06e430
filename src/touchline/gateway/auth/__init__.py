"""Tenants, users, tokens and sessions: who exists, who is here, and who sent a request."""
