"""From the event log into ClickHouse."""
