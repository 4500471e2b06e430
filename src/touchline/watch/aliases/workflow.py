"""RAGWorkflow: has the words of a team made before its match begins."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from .calls import GET_CACHED_TEAM_ALIASES, GET_TEAM_ALIASES
    from .messages import RAGInput


@workflow.defn(name="RAGWorkflow")
class RAGWorkflow:
    @workflow.run
    async def run(self, asked: RAGInput) -> list[str]:
        cached = await GET_CACHED_TEAM_ALIASES(asked.team_id)
        return cached.words if cached.found else await GET_TEAM_ALIASES(asked)
