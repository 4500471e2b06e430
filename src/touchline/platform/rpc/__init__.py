"""The internal RPC: one server and one client, with deadlines, typed errors and proof of the cluster secret."""

import os

os.environ.setdefault(
    "GRPC_VERBOSITY", "ERROR"
)  # gRPC writes to stderr past our log, and reads this when it is imported
