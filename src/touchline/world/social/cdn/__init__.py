"""Where the network keeps its videos."""
