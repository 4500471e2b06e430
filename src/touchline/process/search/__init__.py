"""Search in what was read in videos."""
