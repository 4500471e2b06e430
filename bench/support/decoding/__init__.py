"""A task that probes a video and decodes all of it, for the sandbox and for a plain process."""
