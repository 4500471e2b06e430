"""A small role for tests: answers on its port, and behaves badly when told to."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the base class's
        """The log is for what the tests look for."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--journal", type=Path, required=True, help="a line for every start and stop goes here")
    parser.add_argument("--name", required=True)
    parser.add_argument("--stubborn", action="store_true", help="does not stop when asked")
    parser.add_argument("--child", action="store_true", help="starts a process that does not stop by itself")
    parser.add_argument("--broken", action="store_true", help="ends at once")
    options = parser.parse_args()
    if options.broken:
        sys.exit("it is broken")

    def note(word: str) -> None:
        with options.journal.open("a") as journal:
            journal.write(f"{options.name} {word}\n")

    def stop(*_: object) -> None:
        if not options.stubborn:
            threading.Thread(target=server.shutdown).start()

    if options.child:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    note("started")
    server = HTTPServer(("127.0.0.1", options.port), Health)
    signal.signal(signal.SIGTERM, stop)
    server.serve_forever()
    note("stopped")


if __name__ == "__main__":
    main()
