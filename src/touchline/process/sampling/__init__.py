"""Frames of a video that are worth reading: sampled once, stored under the attempt that sampled them."""
