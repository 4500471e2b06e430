from __future__ import annotations

import pytest

from touchline.platform.endpoints import TemporalEndpoint


@pytest.fixture
def endpoint(namespace: TemporalEndpoint) -> TemporalEndpoint:
    return namespace
