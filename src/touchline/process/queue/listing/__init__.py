"""Lists of jobs for those who look on and act on single ones."""
