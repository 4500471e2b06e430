"""Text over time: what OCR read in single frames becomes segments, and what they mention becomes entities."""
