"""Text in frames, read by OCR in chunks, each of which is stored as soon as it is read."""
