"""Playing artifacts: where, by which links, and what the gateway and the nodes agree on in media addresses."""
