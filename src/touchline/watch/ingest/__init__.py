"""Fetches the matches of the days to come, and prepares what is known of their teams."""
