"""The smallest workflow there is."""

from __future__ import annotations

from temporalio import workflow


@workflow.defn
class Greeting:
    @workflow.run
    async def run(self, name: str) -> str:
        return f"hello {name}"
