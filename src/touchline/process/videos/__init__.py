"""Videos as the pipeline sees them."""
