"""The internal RPC: one server and one client, with deadlines, typed errors and proof of the cluster secret."""

import os

os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # the library writes past our log, and reads this when it is imported

from .client import RpcClient, Stub
from .model import Call
from .server import RpcServer
from .settings import RpcSettings

__all__ = ["Call", "RpcClient", "RpcServer", "RpcSettings", "Stub"]
