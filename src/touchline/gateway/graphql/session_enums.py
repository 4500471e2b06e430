"""The choices of questions about sessions, under their names in the schema. Other modules take them from here."""

from __future__ import annotations

import strawberry

from touchline.measure.answers.model import Dimension, Leaders, Metric, Order, Outcome

__all__ = ["Dimension", "Leaders", "Metric", "Order", "Outcome"]

strawberry.enum(Outcome, name="StartupOutcome")
strawberry.enum(Metric, name="SessionMetric")
strawberry.enum(Dimension, name="SessionDimension", description="HOUR is the hour of the day, in UTC.")
strawberry.enum(Leaders, name="SessionLeaderKind")
strawberry.enum(Order, name="SessionOrder")
