"""What RAGWorkflow is told. Its answer is the list of words, best first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class RAGInput:
    team_id: int
    team_name: str


def rag_workflow_id(team_id: int, day: date) -> str:
    return f"rag-{team_id}-{day:%d_%m_%Y}"
