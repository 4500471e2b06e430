"""Who calls: a principal of one tenant, or nobody in particular."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from touchline.contracts.rpc.v1.common_pb2 import Caller
from touchline.kernel import Principal, Role, Scope, TenantId, UserId
from touchline.kernel.errors import Unauthenticated


@dataclass(frozen=True, slots=True)
class Call:
    """What a service knows about the call that it answers."""

    caller: Principal | None

    def require(self, scope: Scope) -> Principal:
        if self.caller is None:
            raise Unauthenticated("this call needs a user", why="it came on nobody's behalf")
        self.caller.require(scope)
        return self.caller


def to_caller(principal: Principal) -> Caller:
    return Caller(
        tenant_id=str(principal.tenant_id),
        user_id=str(principal.user_id),
        role=principal.role,
        limited=principal.scopes is not None,
        scopes=sorted(principal.scopes or ()),
    )


def to_principal(caller: Caller) -> Principal:
    return Principal(
        tenant_id=TenantId(UUID(caller.tenant_id)),
        user_id=UserId(UUID(caller.user_id)),
        role=Role(caller.role),
        scopes=frozenset(map(Scope, caller.scopes)) if caller.limited else None,
    )
