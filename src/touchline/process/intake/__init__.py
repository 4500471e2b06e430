"""Where videos enter the pipeline."""
