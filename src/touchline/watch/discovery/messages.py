"""What TwitterWorkflow is told when a goal is to be searched for."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.watch.model import GoalRef


@dataclass(frozen=True, slots=True)
class TwitterInput:
    goal: GoalRef
    label: str
    player_name: str
    team_id: int
    team_name: str
    other_team_id: int
    other_team_name: str
    own_goal: bool
    attempts: int
    interval_s: float
    rest_s: float
