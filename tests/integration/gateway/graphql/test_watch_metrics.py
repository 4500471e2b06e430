"""What the metrics tell of watching, read from the tables past all walls."""

from __future__ import annotations

from datetime import timedelta
from math import isnan

from prometheus_client import REGISTRY

from tests.integration.gateway.conftest import World
from tests.support import matches
from tests.support.matches import COMPLETE, KICK_OFF, SEARCHING, event_id
from touchline.watch.settings import WatchSettings
from touchline.watch.views.service import observe

NOW = KICK_OFF + timedelta(hours=1)


def figure(name: str, **labels: str) -> float:
    value = REGISTRY.get_sample_value(f"touchline_watch_{name}", labels)
    assert value is not None
    return value


async def test_the_gauges_are_of_the_last_days_goals(world: World) -> None:
    await observe(world.database, WatchSettings(), NOW)
    assert isnan(figure("coverage_ratio"))
    for tenant in (world.ours.id, world.theirs.id):
        old, first, second, third = (event_id(1, player_id=number) for number in range(4))
        async with world.database.transaction(tenant) as transaction:
            await matches.write(
                transaction,
                matches.match(tenant, 1),
                matches.goal(tenant, 1, old, first_seen=NOW - timedelta(days=2)),
                matches.goal(tenant, 1, first, **COMPLETE),
                matches.video(tenant, first, f"{tenant.hex}"),
                matches.goal(tenant, 1, second, **COMPLETE | {"first_archived_at": None}),
                matches.found(tenant, second, 1, "rejected", "not_football"),
                matches.found(tenant, second, 2, "downloaded"),
                matches.goal(tenant, 1, third, **SEARCHING),
            )
    await observe(world.database, WatchSettings(), NOW)
    assert (figure("goals", state="complete"), figure("goals", state="searching"), figure("goals", state="seen")) == (
        4,
        2,
        0,
    )
    assert (figure("goals_covered"), figure("coverage_ratio")) == (2, 0.5)
    assert (figure("first_video_seconds", quantile="0.5"), figure("found", outcome="rejected")) == (60, 2)
    assert (figure("found", outcome="waiting"), figure("found", outcome="downloaded")) == (2, 0)
