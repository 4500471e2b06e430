"""The bucket against the tables, with everything real: what strangers put there, and what is gone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.platform.objects.relay import relayed
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.tenants import Owner
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.auth.service import TenantOwners, Tenants
from touchline.kernel import ArtifactHash, SystemClock, TenantId, Unavailable, UserId, artifact_hash, video_id
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.settings import ObjectsSettings
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.scanner.rules import Refusal, ScanReport
from touchline.serve.scanner.service import ObjectImport, Scanner
from touchline.serve.settings import ServeSettings

SETTINGS = ServeSettings(scan_settle=timedelta(0), bucket_owner="house")
NORTH, HOUSE = (Owner(TenantId(uuid4()), UserId(uuid4())) for _ in range(2))
EVENTS = "SELECT type, data FROM platform.event_inbox WHERE key = %s ORDER BY sequence"


class TwoOwners:
    async def named(self, tenant: str) -> Owner | None:
        return {"north": NORTH, "house": HOUSE}.get(tenant)

    async def first(self) -> Owner | None:
        return None


class Killed(BaseException):
    """The process ends here."""


@dataclass(frozen=True, slots=True)
class Bucket:
    database: Database
    objects: ObjectStore

    def scanner(self, **settings: Any) -> Scanner:
        changed = SETTINGS.model_copy(update=settings)
        return Scanner(self.database, self.objects, TwoOwners(), changed, SystemClock())

    async def scan(self, **settings: Any) -> ScanReport:
        return await self.scanner(**settings).scan()

    async def put(self, key: str, data: bytes = b"a video", tenant: str | None = "north") -> None:
        metadata = {"tenant": tenant} if tenant else None
        await self.objects.put_new(key, data, metadata=metadata)

    async def delete(self, wanted: str) -> None:
        async with self.database.transaction(NORTH.tenant_id) as transaction:
            await transitions.delete(transaction, ArtifactHash(wanted), SystemClock().now())

    async def keys(self) -> list[str]:
        return [each.key for each in (await self.objects.list("")).objects]

    async def artifact(self, wanted: str, owner: Owner = NORTH) -> Artifact | None:
        async with self.database.transaction(owner.tenant_id) as transaction:
            return await ArtifactStore(transaction).find(ArtifactHash(wanted))

    async def told(self, wanted: str) -> list[tuple[str, dict[str, Any]]]:
        async with self.database.system("test: read events") as transaction:
            cursor = await transaction.connection.execute(EVENTS, (f"artifact:{wanted}",))
            return await cursor.fetchall()

    async def count(self) -> int:
        async with self.database.transaction(NORTH.tenant_id) as transaction:
            [(count,)] = await (await transaction.connection.execute("SELECT count(*) FROM serve.artifacts")).fetchall()
            return count


@pytest.fixture
async def bucket(database: Database, objects: ObjectStore) -> Bucket:
    return Bucket(database, objects)


async def test_a_file_in_the_bucket_becomes_an_artifact_in_its_place(bucket: Bucket) -> None:
    await bucket.put("videos/original/cup/Final 決勝.MP4")
    report = await bucket.scan()
    [(key, found)] = report.taken.items()
    assert key == "videos/original/cup/Final 決勝.MP4"
    home = f"videos/original/{video_id(ArtifactHash(found))}/master.mp4"
    assert await bucket.keys() == [home]
    assert await bucket.objects.get(home) == b"a video"
    assert (await bucket.objects.head(home)).content_type == "video/mp4"
    artifact = await bucket.artifact(found)
    assert artifact
    assert (artifact.status, artifact.original_key, artifact.synced) == (ArtifactStatus.PROCESSING, home, True)
    assert (artifact.size_bytes, artifact.user_id) == (7, NORTH.user_id)
    types = [kind for kind, _ in await bucket.told(found)]
    assert types.count("artifact.original_stored") == types.count("artifact.registered") == 1
    told = dict(await bucket.told(found))
    assert told["artifact.registered"]["title"] == "Final 決勝"
    assert told["artifact.original_stored"]["original_key"] == home

    again = await bucket.scan()
    assert (again.known, again.taken_count, again.vanished_count) == (1, 0, 0)
    assert len(await bucket.told(found)) == len(types)


async def test_whose_an_object_is(bucket: Bucket) -> None:
    await bucket.put("videos/original/ours.mp4", tenant=None)
    await bucket.put("videos/original/theirs.mp4")
    await bucket.put("videos/original/nobodys.mp4", tenant="south")
    report = await bucket.scan()
    assert await bucket.artifact(report.taken["videos/original/ours.mp4"], HOUSE)
    assert await bucket.artifact(report.taken["videos/original/theirs.mp4"], NORTH)
    assert [(each.key, each.reason) for each in report.refusals] == [
        ("videos/original/nobodys.mp4", Refusal.UNKNOWN_OWNER)
    ]
    assert "videos/original/nobodys.mp4" in await bucket.keys()


async def test_who_owns_what_names_nobody(bucket: Bucket, postgres: PostgresEndpoint) -> None:
    owners, tenants = TenantOwners(bucket.database), Tenants(bucket.database, SystemClock())
    assert await owners.first() is None
    first = await tenants.create(COMMAND_LINE, "first", "First")
    second = await tenants.create(COMMAND_LINE, "second", "Second")
    assert await owners.named("first") is None, "it has nobody who answers for it"
    users = [await _add_user(bucket.database, tenant.id) for tenant in (first, second, second)]
    assert await owners.first() == Owner(first.id, users[0])
    assert await owners.named("second") == await owners.named(str(second.id)) == Owner(second.id, min(users[1:]))
    assert await owners.named("third") is await owners.named(str(uuid4())) is None
    await tenants.suspend(COMMAND_LINE, first.id)
    assert await owners.named("first") is None


async def _add_user(database: Database, tenant_id: TenantId) -> UserId:
    user = UserId(uuid4())
    async with database.transaction(tenant_id) as transaction:
        await transaction.connection.execute(
            "INSERT INTO access.users (tenant_id, id, email, name, role, created_at)"
            " VALUES (%s, %s, %s, 'x', 'admin', now())",
            (tenant_id, user, f"{user}@example.org"),
        )
    return user


async def test_what_lies_in_its_place_already_stays_there_and_known_states_are_left_alone(bucket: Bucket) -> None:
    found, home = _home()
    await bucket.put(home)
    report = await bucket.scan()
    assert report.taken == {home: found}
    assert await bucket.keys() == [home]
    async with bucket.database.transaction(NORTH.tenant_id) as transaction:
        await transitions.delete(transaction, found, SystemClock().now())
    await bucket.put(home.replace(".mp4", ".mkv"))
    again = await bucket.scan()
    assert (again.known, again.taken_count) == (1, 0), "deleted is known"
    assert [each.reason for each in again.refusals] == [Refusal.OTHER_ORIGINAL]


async def test_fresh_hostile_and_empty_objects_are_reported_and_not_touched(bucket: Bucket) -> None:
    hostile = [
        "videos/original/a\x01b.mp4",
        "videos/original/.hidden.mp4",
        "videos/original/turned\u202earound.mp4",
        "videos/original/no-ending",
        "videos/original/notes.txt",
    ]
    s3 = bucket.objects._s3  # pyright: ignore[reportPrivateUsage]  our own door takes no such keys
    for key in hostile:
        await s3.call(lambda client, key=key: client.put_object(Bucket=s3.bucket, Key=key, Body=b"x"), key)
    await bucket.put("videos/original/empty.mp4", b"")
    upload = await bucket.objects.uploads.begin("videos/original/half.mp4")
    await bucket.objects.uploads.send_part(upload, 1, b"half of it")
    before = await bucket.keys()
    report = await bucket.scan()
    assert report.refused == {Refusal.HOSTILE_KEY: 3, Refusal.NO_VIDEO: 2, Refusal.EMPTY: 1}
    assert {each.key for each in report.refusals} == {*hostile, "videos/original/empty.mp4"}
    assert (report.listed, report.taken_count) == (6, 0)
    assert await bucket.keys() == before

    await bucket.put("videos/original/match.mp4")
    fresh = await bucket.scan(scan_settle=timedelta(hours=1))
    assert (fresh.fresh, fresh.taken_count, fresh.refused) == (7, 0, {})


@pytest.mark.parametrize("step", ["bring_home", "_registered", "delete_source"])
async def test_a_death_behind_any_step_is_mended_by_the_next_pass(
    bucket: Bucket, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bucket.put("videos/original/match.mp4")
    whole = getattr(ObjectImport, step)

    async def dies(*arguments: Any) -> None:
        await whole(*arguments)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(ObjectImport, step, dies)
        await bucket.scan()
    report = await bucket.scan()
    [key] = await bucket.keys()
    found = artifact_hash_of(key)
    types = [kind for kind, _ in await bucket.told(found)]
    assert types.count("artifact.original_stored") == 1
    assert dict(await bucket.told(found))["artifact.registered"]["title"] == "match"
    assert await bucket.count() == 1
    assert (report.refused, report.vanished_count) == ({}, 0)


async def test_scanners_at_once_take_it_in_once(bucket: Bucket) -> None:
    for number in range(3):
        await bucket.put(f"videos/original/{number}.mp4")
    reports = await asyncio.gather(*(bucket.scan() for _ in range(3)))
    assert sum(report.taken_count for report in reports) == 3
    assert await bucket.count() == 3
    await bucket.scan()
    keys = await bucket.keys()
    assert len(keys) == 3
    for key in keys:
        types = [kind for kind, _ in await bucket.told(artifact_hash_of(key))]
        assert types.count("artifact.original_stored") == 1


async def test_another_file_under_the_same_key_is_another_video(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it comes while the first one is moved: then it is not deleted with it."""
    await bucket.put("videos/original/latest.mp4", b"monday")
    whole = ObjectImport.delete_source

    async def late(taking: ObjectImport, candidate: Any) -> None:
        await bucket.objects.replace("videos/original/latest.mp4", b"tuesday", metadata={"tenant": "north"})
        await whole(taking, candidate)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectImport, "delete_source", late)
        assert (await bucket.scan()).taken_count == 1
    assert (await bucket.scan()).taken_count == 1
    contents = {await bucket.objects.get(key) for key in await bucket.keys()}
    assert contents == {b"monday", b"tuesday"}


async def test_an_original_that_vanished_is_reported_once_and_when_it_is_back(bucket: Bucket) -> None:
    homes = dict(_home() for _ in range(3))
    for home in homes.values():
        await bucket.put(home)
    await bucket.scan()
    gone, home = sorted(homes.items())[1]
    await bucket.objects.delete(home)
    report = await bucket.scan()
    assert report.vanished == [gone]
    assert (await bucket.scan()).vanished == []
    [(kind, data)] = (await bucket.told(gone))[-1:]
    assert (kind, data["original_key"]) == ("artifact.original_vanished", home)
    artifact = await bucket.artifact(gone)
    assert artifact
    assert artifact.status is ArtifactStatus.PROCESSING, "what was made of it stays"

    await bucket.put(home)
    assert (await bucket.scan()).returned == 1
    assert (await bucket.told(gone))[-1][0] == "artifact.original_returned"


async def test_what_is_gone_is_said_by_every_pass_until_it_is_back_or_deleted(bucket: Bucket) -> None:
    homes = dict(sorted(_home() for _ in range(3)))
    for home in homes.values():
        await bucket.put(home)
    await bucket.scan()
    (first, first_home), (second, second_home), _ = homes.items()
    for home in (first_home, second_home):
        await bucket.objects.delete(home)
    reports = [await bucket.scan() for _ in range(3)]
    assert [report.vanished_count for report in reports] == [2, 0, 0], "the news is told once"
    assert [(report.missing, report.missing_count) for report in reports] == [([first, second], 2)] * 3
    await bucket.put(first_home)
    assert [(await bucket.scan()).missing for _ in range(2)] == [[second]] * 2
    await bucket.delete(second)
    assert (await bucket.scan()).missing_count == 0


async def test_a_file_that_is_listed_and_cannot_be_read_is_reported(bucket: Bucket) -> None:
    """As by a store that lost its disk and kept its directory."""
    home, endpoint = _home()[1], bucket.objects._s3._endpoint
    await bucket.put(home)
    assert (await bucket.scan()).unreadable == []
    async with (
        relayed(endpoint) as relay,
        ObjectStore(relay.endpoint, ObjectsSettings(retries=0)) as broken,
    ):
        relay.refuse = f"GET /{endpoint.bucket}/{home}".encode()
        report = await replace(bucket, objects=broken).scan()
    assert (report.unreadable, report.missing_count, report.known) == ([home], 0, 1)
    assert (await bucket.scan()).unreadable == []


async def test_a_store_that_is_away_is_no_absence(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    found, home = _home()
    await bucket.put(home)
    await bucket.scan()
    await bucket.objects.delete(home)

    async def away(key: str) -> bool:
        raise Unavailable("the object store cannot be reached")

    with monkeypatch.context() as patch, pytest.raises(Unavailable):
        patch.setattr(bucket.objects, "exists", away)
        await bucket.scan()
    assert "artifact.original_vanished" not in dict(await bucket.told(found))


async def test_a_wrong_bucket_does_not_declare_everything_missing_at_once(bucket: Bucket) -> None:
    for _ in range(3):
        await bucket.put(_home()[1])
    await bucket.scan()
    for key in await bucket.keys():
        await bucket.objects.delete(key)
    assert [(await bucket.scan(scan_most=2)).vanished_count for _ in range(3)] == [2, 1, 0]


async def test_a_pass_that_stops_at_its_limit_goes_on_where_it_was(bucket: Bucket) -> None:
    for number in range(5):
        await bucket.put(f"videos/original/{number}.mp4")
    scanner = bucket.scanner(scan_most=2)
    passes = [await scanner.run_pass() for _ in range(3)]
    assert passes == [True, True, False]
    assert await bucket.count() == 5


async def test_pages_are_compared_range_by_range(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a hundred thousand keys: one page at a time, nothing asked of the store that the listing told."""
    homes = dict(_home() for _ in range(7))
    for home in homes.values():
        await bucket.put(home)
    await bucket.put("videos/original/cccc.mp4")
    listed, asked = bucket.objects.list, list[str]()

    async def in_twos(prefix: str, *, after: str = "", limit: int = 0) -> Any:
        return await listed(prefix, after=after, limit=2)

    async def asks(key: str) -> bool:
        asked.append(key)
        return False

    monkeypatch.setattr(bucket.objects, "list", in_twos)
    assert (await bucket.scan()).taken_count == 8
    monkeypatch.setattr(bucket.objects, "exists", asks)
    gone = [sorted(homes)[number] for number in (0, 3, 6)]
    for each in gone:
        await bucket.objects.delete(homes[ArtifactHash(each)])
    assert sorted((await bucket.scan()).vanished) == gone
    assert len(asked) == 3


def _home() -> tuple[ArtifactHash, str]:
    number = uuid4()
    return artifact_hash(number), f"videos/original/{number}/master.mp4"


def artifact_hash_of(key: str) -> str:
    return key.split("/")[2].replace("-", "")
