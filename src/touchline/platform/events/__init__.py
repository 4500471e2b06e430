"""The event log: gapless positions, consumers with cursor and effects in one transaction, an archive behind it."""
