"""What the network tells pages that embed a post."""
