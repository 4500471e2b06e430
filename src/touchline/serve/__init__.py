"""What people keep and watch: registry, artifacts, uploads, playback, nodes."""
