"""Live events for clients: the event log of one tenant, from any position on."""
