"""The job queue: its rules are in SQL, so that everybody obeys the same ones; here is how the product uses it."""
