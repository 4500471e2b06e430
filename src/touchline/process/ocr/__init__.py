"""Text in pictures: read in chunks, each of which is kept as soon as it is read."""
