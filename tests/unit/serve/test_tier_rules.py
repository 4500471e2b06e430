"""Which copies go, and which node gets one: tables that a person can check, then properties."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import ArtifactHash, Conflict, TenantId
from touchline.serve.nodes.rules import (
    HeldCopy,
    Inventory,
    InventoryChunk,
    Node,
    NodeStatus,
    choose,
    require_plausible,
    room_bytes,
)
from touchline.serve.tiers.rules import Copy, CopyState, Deleted, Known, Watermarks, compare, needs_object, victims

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
TENANT = TenantId(UUID(int=1))
MARKS = Watermarks(0.85, 0.70)


def copy(name: str, size: int, idle_hours: float = 0, age_hours: float = 0, **changes: object) -> Copy:
    """Of an artifact that is called by its name, for as long as a hash is."""
    found = Copy(
        tenant_id=TENANT,
        artifact_hash=ArtifactHash(name),
        node_id="node-1",
        state=CopyState.PRESENT,
        manifest_key=f"videos/{name}/index.m3u8",
        size_bytes=size,
        segment_count=1,
        segment_bytes=size,
        last_accessed_at=NOW - timedelta(hours=idle_hours),
        cached_at=NOW - timedelta(hours=age_hours),
        pinned=False,
        synced=True,
    )
    return replace(found, **changes)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("case", "copies", "used", "names"),
    [
        ("below the upper mark nothing goes", [copy("a", 40, 99)], 85, []),
        ("down to the lower mark", [copy("a", 10, 3), copy("b", 10, 2), copy("c", 10, 1)], 90, ["a", "b"]),
        ("coldest first", [copy("warm", 30, 1, 99), copy("cold", 30, 5, 6)], 90, ["cold"]),
        ("of equally cold ones the oldest", [copy("new", 30, 5, 6), copy("old", 30, 5, 99)], 90, ["old"]),
        ("of those the largest", [copy("small", 10, 5, 6), copy("large", 30, 5, 6)], 90, ["large"]),
        ("minutes make no difference", [copy("small", 10, 5.4, 6), copy("large", 30, 5.1, 6)], 90, ["large"]),
        (
            "never watched is as cold as old",
            [copy("a", 30, age_hours=9, last_accessed_at=None), copy("b", 30, 8)],
            90,
            ["a"],
        ),
        ("never what is pinned", [copy("a", 30, 9, pinned=True), copy("b", 30, 1)], 90, ["b"]),
        ("never what lies nowhere else", [copy("a", 30, 9, synced=False), copy("b", 30, 1)], 90, ["b"]),
        ("what goes already counts as gone", [copy("a", 30, 9, state=CopyState.EVICTING), copy("b", 30, 1)], 90, []),
        ("nothing that may go is no reason to take another", [copy("a", 90, 9, pinned=True)], 90, []),
    ],
)
def test_victims(case: str, copies: list[Copy], used: int, names: list[str]) -> None:
    assert [each.artifact_hash for each in victims(copies, used, 100, MARKS, NOW)] == names, case


copies = st.builds(
    copy,
    st.uuids().map(lambda each: each.hex),
    st.integers(0, 1000),
    st.floats(0, 500),
    st.floats(0, 500),
    pinned=st.booleans(),
    synced=st.booleans(),
    state=st.sampled_from([CopyState.PRESENT, CopyState.EVICTING, CopyState.DEFROSTING]),
)


@given(st.lists(copies, max_size=20, unique_by=lambda each: each.artifact_hash), st.integers(1, 20_000))
def test_eviction_never_takes_more_than_it_must_nor_what_it_may_not(held: list[Copy], budget: int) -> None:
    used = sum(each.size_bytes for each in held)
    chosen = victims(held, used, budget, MARKS, NOW)
    assert all(each.synced and not each.pinned and each.state is CopyState.PRESENT for each in chosen)
    going = sum(each.size_bytes for each in held if each.state is CopyState.EVICTING)
    if chosen:
        left_before_last = used - going - sum(each.size_bytes for each in chosen[:-1])
        assert left_before_last > MARKS.lower * budget
    assert victims(list(reversed(held)), used, budget, MARKS, NOW) == chosen, "the order of the rows decides nothing"


@pytest.mark.parametrize(
    ("case", "deleted", "after", "needed"),
    [
        ("it can be undeleted", Deleted(NOW, is_final=False, synced=True), timedelta(days=29), True),
        ("nobody undeletes it any more", Deleted(NOW, is_final=False, synced=True), timedelta(days=30), False),
        ("it was deleted for good", Deleted(NOW, is_final=True, synced=True), timedelta(0), False),
    ],
)
def test_a_deletion_that_can_be_undone_keeps_the_last_copy(
    case: str, deleted: Deleted, after: timedelta, needed: bool
) -> None:
    assert needs_object(deleted, timedelta(days=30), NOW + after) is needed, case


def node(name: str, room: int = 1000, **changes: object) -> Node:
    found = Node(
        node_id=name,
        instance_id=UUID(int=1),
        base_url=f"http://{name}",
        version="1",
        locality="",
        status=NodeStatus.PRESENT,
        trouble=None,
        budget_bytes=room,
        used_bytes=0,
        free_bytes=10**9,
        load=0,
        inventory_at=NOW,
        inventory_refusal=None,
        registered_at=NOW,
        last_seen_at=NOW,
        revision=1,
    )
    return replace(found, **changes)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("case", "nodes", "chosen"),
    [
        ("nobody", [], None),
        ("most room", [node("a", 500), node("b", 900)], "b"),
        ("the disk counts as well", [node("a", 500), node("b", 900, free_bytes=200)], "a"),
        ("no room", [node("a", 99)], None),
        ("what has not reported", [node("a", budget_bytes=None)], None),
        ("gone", [node("a", status=NodeStatus.GONE)], None),
        ("in trouble", [node("a", trouble="the disk is lost")], None),
        ("near before roomy", [node("a", 500, locality="berlin"), node("b", 900)], "a"),
        ("at ease before roomy", [node("a", 500), node("b", 900, load=100)], "a"),
        ("a little load is none", [node("a", 500), node("b", 900, load=99)], "b"),
        ("by name, so that all decide the same", [node("b"), node("a")], "a"),
    ],
)
def test_which_node_gets_a_copy(case: str, nodes: list[Node], chosen: str | None) -> None:
    found = choose(nodes, 100, "berlin")
    assert (found and found.node_id) == chosen, case


def test_where_nobody_knows_what_is_near_all_places_are_alike() -> None:
    found = choose([node("nowhere", 200), node("berlin", 300, locality="berlin")], 100)
    assert found is not None
    assert found.node_id == "berlin", "it has most room"


nodes = st.builds(
    node,
    st.uuids().map(lambda each: each.hex),
    st.integers(0, 500),
    load=st.integers(0, 300),
    locality=st.sampled_from(["", "berlin", "paris"]),
    status=st.sampled_from(NodeStatus),
    trouble=st.sampled_from([None, "no disk"]),
    free_bytes=st.integers(0, 500),
)


@given(st.lists(nodes, max_size=8), st.integers(0, 500), st.randoms())
def test_a_chosen_node_can_take_it_and_all_decide_the_same(found: list[Node], wanted: int, random: object) -> None:
    chosen = choose(found, wanted, "paris")
    fitting = [each for each in found if each.status is NodeStatus.PRESENT and not each.trouble]
    fitting = [each for each in fitting if room_bytes(each) >= wanted]
    assert (chosen is None) == (not fitting)
    assert chosen is None or chosen in fitting
    assert choose(list(reversed(found)), wanted, "paris") == chosen


def held(name: str, manifest: str = "") -> HeldCopy:
    return HeldCopy(TENANT, ArtifactHash(name), manifest or f"videos/{name}/index.m3u8", 10, 1, 10, NOW)


def chunk(inventory: str, sequence: int, *names: str, final: bool = False) -> InventoryChunk:
    return InventoryChunk(inventory, sequence, [held(name) for name in names], final)


def test_an_inventory_counts_as_a_whole() -> None:
    inventory = Inventory()
    assert inventory.add(chunk("one", 0, "a", "b")) is None
    assert inventory.add(chunk("one", 1, "c")) is None
    assert inventory.add(chunk("one", 2, final=True)) == [held("a"), held("b"), held("c")]
    assert inventory.add(chunk("two", 0, final=True)) == []


@pytest.mark.parametrize(
    ("why", "chunks"),
    [
        ("does not begin", [chunk("one", 1, "a", final=True)]),
        ("part 2 came where part 1 was due", [chunk("one", 0, "a"), chunk("one", 2, "b", final=True)]),
        ("part 0 came where part 1 was due", [chunk("one", 0, "a"), chunk("one", 0, "a")]),
        ("does not begin", [chunk("one", 0, "a"), chunk("two", 1, "b", final=True)]),
        ("came before", [chunk("one", 0, "a", final=True), chunk("one", 0, "a", final=True)]),
        ("lists a twice", [chunk("one", 0, "a"), chunk("one", 1, "a", final=True)]),
    ],
)
def test_what_is_no_whole_inventory_is_refused(why: str, chunks: list[InventoryChunk]) -> None:
    inventory, (*first, last) = Inventory(), chunks
    for each in first:
        inventory.add(each)
    with pytest.raises(Conflict, match=why):
        inventory.add(last)
    assert inventory.add(chunk("later", 0, "z", final=True)) == [held("z")], "the next one is taken"


def test_a_half_inventory_is_forgotten_when_another_begins() -> None:
    inventory = Inventory()
    inventory.add(chunk("one", 0, "a"))
    assert inventory.add(chunk("two", 0, "b", final=True)) == [held("b")]


def test_a_node_that_lost_everything_is_not_believed() -> None:
    with pytest.raises(Conflict, match="empty, and 3 copies"):
        require_plausible(0, 3)
    require_plausible(0, 0)
    require_plausible(1, 3)


def known(name: str, manifest: str = "", synced: bool = True) -> Known:
    return Known(TENANT, ArtifactHash(name), manifest or f"videos/{name}/index.m3u8", synced, "ready")


def test_an_inventory_against_the_record() -> None:
    record = [
        copy("there", 10),
        copy("lost", 10),
        copy("going", 10, state=CopyState.EVICTING),
        copy("coming", 10, state=CopyState.DEFROSTING),
    ]
    listed = [held("there"), held("found"), held("older", "an older one"), held("born", "here"), held("nobody's")]
    artifacts = [known("there"), known("found"), known("older"), known("born", "elsewhere", synced=False)]
    found = compare(record, listed, artifacts)
    assert [each.artifact_hash for each in found.missing] == ["lost", "going"]
    assert [each.artifact_hash for each in found.found] == ["found", "born"]
    assert [each.artifact_hash for each in found.replaced] == ["older"]
    assert [each.artifact_hash for each in found.unknown] == ["nobody's"]
