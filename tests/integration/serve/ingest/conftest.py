"""libsrt as the machine has it. Where it has none, `scripts/setup-debian` has said so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stack import ROOT

PATTERN = "usr/lib/*/libsrt*.so.1.[45]"
INSTALLED = sorted(Path("/").glob(PATTERN))
UNPACKED = sorted((ROOT / "build" / "debian").glob(PATTERN))

collect_ignore = [] if INSTALLED or UNPACKED else ["test_srt.py"]


@pytest.fixture(scope="session")
def srt_library() -> Path | None:
    """None: the reader finds it by itself."""
    return None if INSTALLED else UNPACKED[0]
