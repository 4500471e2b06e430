"""Pictures of a video that are worth reading: taken once, kept under the attempt that took them."""
