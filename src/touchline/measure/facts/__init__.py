"""Session facts in ClickHouse: batches of events become rows, pass by pass."""
