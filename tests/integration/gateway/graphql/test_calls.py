"""What a page costs: the same number of calls and statements, whatever its size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from prometheus_client import REGISTRY

from .documents import LIST, VOD
from .processed import processed
from .site import Needs, Person, Plan, Site, running_site


@pytest.fixture
def site(separate_site: Site) -> Site:
    """Behind a socket every call is counted."""
    return separate_site


@dataclass
class Cost:
    calls: Counter[str] = field(default_factory=Counter)
    statements: int = 0


def answered_calls() -> Counter[str]:
    """By service and method, with whatever outcome."""
    counted: Counter[str] = Counter()
    for metric in REGISTRY.collect():
        for sample in metric.samples:
            if sample.name == "touchline_rpc_calls_total":
                counted[sample.labels["method"].rpartition("/")[2]] += int(sample.value)
    return counted


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Generator[Cost]:
    cost, before, execute = Cost(), answered_calls(), psycopg.AsyncCursor.execute

    async def counted(*args: Any, **kwargs: Any) -> Any:
        cost.statements += 1
        return await execute(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.AsyncCursor, "execute", counted)
        yield cost
    cost.calls = answered_calls() - before


async def cost_of(site: Site, person: Person, monkeypatch: pytest.MonkeyPatch, query: str, **variables: Any) -> Cost:
    await site.data(person, query, **variables)  # connections and keys are there now
    with counting(monkeypatch) as cost:
        await site.data(person, query, **variables)
    return cost


async def test_a_page_of_any_size_costs_the_same(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.person()
    for number in range(50):
        await site.upload(ada, f"{number}")
    await site.settle()
    costs = {size: await cost_of(site, ada, monkeypatch, LIST, page={"first": size}) for size in (1, 10, 50)}
    assert costs[1].calls == {"ListUploads": 1, "GetArtifactStates": 1}
    assert costs[1] == costs[10] == costs[50]
    assert costs[50].statements > 0
    found = (await site.data(ada, LIST))["vodsConnection"]
    assert len(found["edges"]) == 50
    assert all(edge["node"]["status"] == "uploading" for edge in found["edges"])


HITS = """
query ($first: Int!) { search(query: "goal*", first: $first) {
  ... on SearchPage { edges { node { frameUrl vod { title } } } }
} }
"""


async def test_a_page_of_hits_costs_the_same_with_its_pictures(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.person()
    for title in ("first half", "second half"):
        await processed(site, ada, await site.upload(ada, title), [f"goal {word}" for word in ("one", "two", "three")])
    one, six = [await cost_of(site, ada, monkeypatch, HITS, first=first) for first in (1, 6)]
    assert one == six
    assert one.calls == {"GetUploads": 1}
    found = (await site.data(ada, HITS, first=6))["search"]["edges"]
    assert len({edge["node"]["frameUrl"] for edge in found}) == 6


async def test_without_lifecycle_fields_the_lifecycle_is_not_asked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.person()
    await site.upload(ada)
    query = "{ vodsConnection { totalCount edges { node { title } } } }"
    assert (await cost_of(site, ada, monkeypatch, query)).calls == {"ListUploads": 1}


async def test_many_fields_of_one_request_are_one_call(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.person()
    hashes = [(await site.upload(ada)).artifact_hash for _ in range(5)]
    fields = " ".join(f'v{n}: vod(artifactHash: "{one}") {{ title status }}' for n, one in enumerate(hashes))
    cost = await cost_of(site, ada, monkeypatch, f"{{ {fields} }}")
    assert cost.calls == {"GetUploads": 1, "GetArtifactStates": 1}
    one = await cost_of(site, ada, monkeypatch, VOD, hash=hashes[0])
    assert one == cost


async def test_a_lifecycle_that_is_away_is_asked_once(needs: Needs, caplog: pytest.LogCaptureFixture) -> None:
    async with running_site(needs, Plan(away=frozenset({"lifecycle"}))) as site:
        ada = await site.person()
        hashes = [(await site.upload(ada)).artifact_hash for _ in range(5)]
        fields = " ".join(
            f'v{n}: vod(artifactHash: "{one}") {{ status lifecycleKnown }}' for n, one in enumerate(hashes)
        )
        query = f"{{ vodsConnection {{ edges {{ node {{ status lifecycleKnown }} }} }} {fields} }}"
        data = await site.data(ada, query)
        unknown = {"status": None, "lifecycleKnown": False}
        assert [edge["node"] for edge in data["vodsConnection"]["edges"]] == [unknown] * 5
        assert [data[f"v{n}"] for n in range(5)] == [unknown] * 5
        complaints = [
            record for record in caplog.records if record.message == "a page is sent without lifecycle fields"
        ]
        assert len(complaints) == 1
