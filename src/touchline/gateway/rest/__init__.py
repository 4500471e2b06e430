"""The gateway over plain HTTP: signing in, health, metrics."""
