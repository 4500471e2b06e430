"""Runs as they were recorded once: today's code must decide the same at every step, for what is on the way.

A history is what Temporal's own page offers to download. One that a change must break gets a version in the workflow.
"""

from __future__ import annotations

import pytest
from temporalio.worker import Replayer

from tests.support.histories import read, recorded
from touchline.watch.worker import BUILD, WORKFLOWS, workflow_runner

LEAST = {"download": 5, "ingest": 6, "monitor": 8, "rag": 1, "twitter": 5, "upload": 3}  # shapes of each
FILES = {path.stem: path for path in recorded()}


@pytest.mark.parametrize("name", FILES)
async def test_it_replays(name: str) -> None:
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=workflow_runner(), build_id=BUILD)
    await replayer.replay_workflow(read(FILES[name]))


@pytest.mark.parametrize(("kind", "least"), LEAST.items())
def test_there_are_some_of_each(kind: str, least: int) -> None:
    assert len([name for name in FILES if name.startswith(f"{kind}-")]) >= least


async def test_another_decision_is_noticed() -> None:
    """Otherwise all of this would prove nothing."""
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=workflow_runner(), build_id=BUILD)
    history = read(FILES["monitor-goal"])
    started = [event for event in history.events if event.HasField("activity_task_scheduled_event_attributes")]
    started[0].activity_task_scheduled_event_attributes.activity_type.name = "another_activity"
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    assert result.replay_failure
