"""The gateway of the integration tests, with what the matrix needs of it."""

from __future__ import annotations

from tests.integration.gateway.conftest import world
from tests.integration.gateway.graphql.conftest import analytics, needs

__all__ = ["analytics", "needs", "world"]
