"""Where the bytes of artifacts lie: the object store, and the nodes that hold copies."""
