"""From the id in an address to what a viewer can play."""
