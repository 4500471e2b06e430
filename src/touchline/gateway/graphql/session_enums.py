"""The choices of questions about sessions, under their names in the schema. Other modules take them from here."""

from __future__ import annotations

import strawberry

from touchline.measure.analytics.rules import Dimension, Leaders, Metric, Order, Progress
from touchline.measure.sessions.rules import Outcome

__all__ = ["Dimension", "Leaders", "Metric", "Order", "Outcome", "Progress"]

strawberry.enum(Outcome, name="StartupOutcome")
strawberry.enum(
    Progress,
    name="SessionProgress",
    description="How a session stands: its outcome, or RUNNING or CANCELLED as long as that is not final.",
)
strawberry.enum(Metric, name="SessionMetric")
strawberry.enum(Dimension, name="SessionDimension", description="HOUR is the hour of the day, in UTC.")
strawberry.enum(Leaders, name="SessionLeaderKind")
strawberry.enum(Order, name="SessionOrder")
