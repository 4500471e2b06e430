"""The internal RPCs: messages and services as `proto/` describes them, generated."""
