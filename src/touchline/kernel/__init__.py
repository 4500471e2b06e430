"""What every other package may rely on: no input or output, no third parties."""

from .clock import Clock, ManualClock, SystemClock, epoch_ms
from .errors import TouchlineError
from .ids import uuid7
from .tenancy import Principal, Role, Scope, TenantId, UserId

__all__ = [
    "Clock",
    "ManualClock",
    "Principal",
    "Role",
    "Scope",
    "SystemClock",
    "TenantId",
    "TouchlineError",
    "UserId",
    "epoch_ms",
    "uuid7",
]
