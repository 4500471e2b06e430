"""Runs of the search that were recorded once still replay: what is on the way must survive a new version."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.worker import Replayer

from tests.support.histories import read, recorded
from touchline.watch.aliases.workflow import RAGWorkflow
from touchline.watch.discovery.workflow import TwitterWorkflow

WORKFLOWS = {"rag": RAGWorkflow, "twitter": TwitterWorkflow}
FILES = [path for path in recorded() if path.name.startswith(tuple(WORKFLOWS))]


def test_there_is_one_of_each() -> None:
    assert {path.name.partition("-")[0] for path in FILES} == {*WORKFLOWS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_it_replays(path: Path) -> None:
    await Replayer(workflows=[*WORKFLOWS.values()], build_id="test").replay_workflow(read(path))
