"""`python -m touchline`: the same command line."""

from __future__ import annotations

from touchline.apps.cli import main

if __name__ == "__main__":
    main()
