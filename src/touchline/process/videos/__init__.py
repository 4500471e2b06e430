"""Videos in the pipeline: their state, and what the gateway reads of them."""
