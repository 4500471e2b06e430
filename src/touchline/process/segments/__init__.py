"""Text over time: what was read in single pictures becomes segments, and what they speak of becomes entities."""
