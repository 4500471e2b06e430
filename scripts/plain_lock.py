"""Takes out of npm's lock file what names hosts: where packages were found, and where their authors take donations.

npm needs neither: a package is found by its name and known by its hash.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HOSTS = ("funding", "resolved")


def make_plain(path: Path) -> None:
    lock = json.loads(path.read_text("utf-8"))
    for package in lock["packages"].values():
        for name in HOSTS:
            package.pop(name, None)
    path.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    make_plain(Path(sys.argv[1]))
