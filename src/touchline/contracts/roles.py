"""The roles that answer others, as one process asks them: directly, or by RPC."""

from __future__ import annotations

from dataclasses import dataclass

from .artifacts import ArtifactClient
from .lifecycle import LifecycleClient
from .playback import PlaybackClient
from .registry import RegistryClient
from .storage import StorageClient


@dataclass(frozen=True, slots=True)
class RoleClients:
    registry: RegistryClient
    artifacts: ArtifactClient
    lifecycle: LifecycleClient
    playback: PlaybackClient
    storage: StorageClient
