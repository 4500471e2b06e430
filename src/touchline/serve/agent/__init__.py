"""What runs on a node: its folder of copies, the media that it sends, and its line to the artifacts role."""
