"""The endpoint for embedded posts: where the videos of a post are, without signing in."""
