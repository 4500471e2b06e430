"""The embedded stack: servers from packages, started and supervised in one data folder, on loopback only."""
