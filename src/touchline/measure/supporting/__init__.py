"""Facts beside sessions: orchestrators' capabilities, samples of running streams, discovery and payments."""
