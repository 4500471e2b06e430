"""Who asks, as GraphQL shows it."""

from __future__ import annotations

import strawberry

from .context import Info


@strawberry.type
class Me:
    user_id: strawberry.ID
    email: str
    name: str
    role: str
    tenant_id: strawberry.ID
    tenant_name: str


@strawberry.type
class AccessQueries:
    @strawberry.field
    async def me(self, info: Info) -> Me:
        user, tenant = await info.context.parts.auth.sessions.describe(info.context.principal)
        return Me(
            user_id=strawberry.ID(str(user.id)),
            email=user.email,
            name=user.name,
            role=user.role,
            tenant_id=strawberry.ID(str(tenant.id)),
            tenant_name=tenant.name,
        )
