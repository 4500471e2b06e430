"""What a picture says and shows: the work of the engine process, which is the only one that imports these libraries.

Invariant: pictures come in as plain pixels, already decoded by an isolated process; nothing here parses a file, and
nothing is told to anybody else.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # must stand before onnxruntime is imported, which would report home
