"""The envelope around every event of the log, and what its contents must be able to say.

Invariant: payloads only ever gain optional fields; a reader ignores the ones it does not know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from touchline.kernel import TenantId


class Payload(BaseModel, ABC):
    """The `data` of one type of event."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    event_type: ClassVar[str]
    event_version: ClassVar[int] = 1
    names_actor: ClassVar[bool] = False  # then `actor` is whoever acts in the transaction, unless it is set

    @property
    @abstractmethod
    def key(self) -> str:
        """What the event is about. Events of one key keep their order."""


@dataclass(frozen=True, slots=True)
class Envelope:
    id: UUID
    type: str
    version: int
    tenant_id: TenantId
    key: str
    revision: int
    occurred_at: datetime
    trace: str | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event(Envelope):
    """An envelope that has its place in the log."""

    position: int
