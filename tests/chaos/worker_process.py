"""A worker as its own process, with its settings from the environment: `python -m tests.chaos.worker_process`."""

from __future__ import annotations

import asyncio

from touchline.apps import logging
from touchline.apps.settings import load
from touchline.apps.worker import run_worker

if __name__ == "__main__":
    loaded = load()
    logging.configure("worker", loaded.settings.log)
    asyncio.run(run_worker(loaded))
