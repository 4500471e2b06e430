"""Runs of the UploadWorkflow as they were: today's code must decide the same at every step.

A history is what Temporal's own page offers to download. One that a change must break gets a version in the workflow.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from touchline.watch.archive.workflow import UploadWorkflow

FILES = Path(__file__).parent.joinpath("histories").glob("upload-*.json")
HISTORIES = {path.stem: path.read_text("utf-8") for path in sorted(FILES)}
RUNNER = SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules("touchline"))


@pytest.mark.parametrize("name", HISTORIES)
async def test_it_replays(name: str) -> None:
    replayer = Replayer(workflows=[UploadWorkflow], workflow_runner=RUNNER)
    await replayer.replay_workflow(WorkflowHistory.from_json(name, HISTORIES[name]))


def test_there_is_something_to_replay() -> None:
    assert HISTORIES.keys() >= {"upload-annulled", "upload-better-copy", "upload-waiting"}
