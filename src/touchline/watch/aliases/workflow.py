"""RAGWorkflow: has the words of a team made before its match begins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from touchline.watch.temporal import Call

    from .rules import CachedAliases

# What RAGWorkflow is told. Its answer is the list of words, best first.


@dataclass(frozen=True, slots=True)
class RAGInput:
    team_id: int
    team_name: str


def rag_workflow_id(team_id: int, day: date) -> str:
    return f"rag-{team_id}-{day:%d_%m_%Y}"


# How workflows ask for the words of a team.

GET_CACHED_TEAM_ALIASES = Call("get_cached_team_aliases", CachedAliases, timedelta(seconds=10), attempts=2, near=True)
GET_TEAM_ALIASES = Call("get_team_aliases", list[str], timedelta(seconds=60), attempts=2)


# The workflow.


@workflow.defn(name="RAGWorkflow")
class RAGWorkflow:
    @workflow.run
    async def run(self, asked: RAGInput) -> list[str]:
        cached = await GET_CACHED_TEAM_ALIASES(asked.team_id)
        return cached.words if cached.found else await GET_TEAM_ALIASES(asked)
