"""Goals: which entry of the feed is which goal, when one is believed, and when it is taken away."""
