"""Tables, nodes and the object store against each other: damage is found, named, and repaired where that is safe."""
