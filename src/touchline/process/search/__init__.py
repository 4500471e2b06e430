"""Search in what was read in videos, and in their titles and labels."""
