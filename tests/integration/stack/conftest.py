from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.stack import temporary_root


@pytest.fixture
def root() -> Generator[Path]:
    """Where a data folder may be made."""
    with temporary_root() as root:
        yield root
