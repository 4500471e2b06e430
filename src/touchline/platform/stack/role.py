"""A role of the product as a part: one of our own processes, with an address that tells its health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .environment import python_environment
from .folder import DataFolder
from .part import Kind, Part
from .probes import http_probe
from .process import Launch
from .settings import StackSettings

# Each thread would have a heap of its own, and keep what others could use.
ALLOCATOR = {"MALLOC_ARENA_MAX": "2"}


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    command: Sequence[str]
    health_url: str  # says whether it is ready, which may depend on others
    needs: tuple[str, ...] = ()  # other roles; all servers are ready before any role starts
    live_url: str = ""  # says that its loop turns, and nothing about others; without it: the same as `health_url`


def role_part(role: Role, folder: DataFolder, settings: StackSettings) -> Part:
    return Part(
        name=role.name,
        kind=Kind.ROLE,
        launch=Launch(command=role.command, folder=folder.root, environment=ALLOCATOR | python_environment(folder)),
        probe=http_probe(role.health_url),
        stop_grace=settings.role_stop_grace,
        alive=http_probe(role.live_url or role.health_url, limit=settings.health_timeout),
        needs=role.needs,
        address=role.health_url,
    )
