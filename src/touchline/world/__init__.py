"""The simulated outside world. Nobody but `apps` imports it."""
