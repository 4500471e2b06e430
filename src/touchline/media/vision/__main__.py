"""The engine process: `python -m touchline.media.vision`, started by `media.engines`."""

import socket

from .server import serve

with socket.socket(fileno=0) as line:
    serve(line)
