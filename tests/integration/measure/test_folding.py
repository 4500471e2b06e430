"""Deliveries become facts: the rows that the core gives for all events at once, however they came."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.events import new_tenant
from tests.support.measuring import Measuring, expected
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

REAL = Path(__file__).parents[2] / "unit" / "measure" / "streaming-events.json"


@pytest.fixture
def measuring(database: Database, analytics: Analytics) -> Measuring:
    return Measuring(database, analytics)
