"""Stands where the archive is: a workflow of its name that hears of batches, and has heard enough with the second."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from touchline.watch.archive.workflow import UploadInput


@workflow.defn(name="UploadWorkflow")
class Listener:
    def __init__(self) -> None:
        self.batches = list[str]()

    @workflow.run
    async def run(self, given: UploadInput) -> list[str]:
        await workflow.wait_condition(lambda: len(self.batches) == 2)
        return self.batches

    @workflow.signal
    def add_videos(self, batch_id: str) -> None:
        self.batches.append(batch_id)
