"""Turns the events of the log into current states, facts and charts, in ClickHouse."""
