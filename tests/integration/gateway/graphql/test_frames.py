"""Pictures of a video, by the addresses that search and the text of a video tell."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from touchline.contracts.registry import Upload
from touchline.kernel import video_id
from touchline.process.sampling.rules import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.serve.artifacts import transitions

from .processed import processed
from .site import Person, Site

SEARCH = """
query { search(query: "goal", sort: CONFIDENCE) { ... on SearchPage { edges { node { startMs frameUrl } } } } }
"""
SEGMENTS = """
query ($artifactHash: String!) { video(artifactHash: $artifactHash) {
  segmentsConnection { edges { node { tStart frameUrl boundingBox { frameWidth frameHeight } } } }
} }
"""
ATTEMPT = 2
TIMES = (0, 1500, 4000)


def picture(time_ms: int) -> bytes:
    return f"the picture of {time_ms}".encode()


async def pictured(site: Site, person: Person, title: str = "A match") -> Upload:
    """Texts at 0, 2 and 4 seconds; at 2 nothing is new but what a reader missed before."""
    upload = await site.ready(person, title)
    video = await processed(site, person, upload, ["goal one", "goal two", "goal three"])
    async with site.world.database.transaction(person.principal) as transaction:
        sampling = Sampling(ATTEMPT, 100, 1280, 720, 6000, len(TIMES))
        await FrameStore(transaction.connection).replace(video, sampling, TIMES)
    for time in TIMES:
        await site.needs.objects.put_new(f"frames/{video}/{ATTEMPT}/{time}.jpg", picture(time))
    return upload


async def hits(site: Site, person: Person) -> dict[float, str | None]:
    edges = (await site.data(person, SEARCH))["search"]["edges"]
    return {edge["node"]["startMs"]: edge["node"]["frameUrl"] for edge in edges}


async def segments(site: Site, person: Person, upload: Upload) -> list[dict[str, Any]]:
    found = await site.data(person, SEGMENTS, artifactHash=upload.artifact_hash)
    return [edge["node"] for edge in found["video"]["segmentsConnection"]["edges"]]


async def test_each_text_has_the_picture_that_shows_it_first(site: Site) -> None:
    ada = await site.person()
    upload = await pictured(site, ada)
    found = await hits(site, ada)
    shown = {0: 0, 2000: 1500, 4000: 4000}
    assert set(found) == set(shown)
    for start_ms, time in shown.items():
        response = await site.client.get(str(found[start_ms]))
        assert (response.status_code, response.content) == (200, picture(time))
        assert response.headers["content-type"] == "image/jpeg"
        assert response.headers["cache-control"] == "private, max-age=31536000, immutable"
    texts = await segments(site, ada, upload)
    assert {text["tStart"]: text["frameUrl"] for text in texts} == found
    assert texts[0]["boundingBox"] == {"frameWidth": 1280, "frameHeight": 720}


async def test_without_pictures_there_is_no_address(site: Site) -> None:
    ada = await site.person()
    upload = await pictured(site, ada)
    async with site.world.database.transaction(ada.principal) as transaction:
        await transaction.connection.execute("DELETE FROM process.frames WHERE timestamp_ms < 4000")
    found = await hits(site, ada)
    assert [found[0], found[2000], bool(found[4000])] == [None, None, True]
    assert [bool(text["frameUrl"]) for text in await segments(site, ada, upload)] == [False, False, True]


async def test_pictures_of_others_are_out_of_reach(site: Site) -> None:
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    mine, hers = await pictured(site, ada, "Ours"), await pictured(site, eve, "Theirs")
    own, foreign = str((await hits(site, ada))[0]), str((await hits(site, eve))[0])
    assert hers.artifact_hash not in str(await hits(site, ada))
    token = own.split("/")[2]
    forged = [
        own.replace(mine.artifact_hash, hers.artifact_hash),
        foreign.replace(foreign.split("/")[2], token),
    ]
    for address in forged:
        assert (await site.client.get(address)).status_code == 403
    folder = own.removesuffix("frames/2/0.jpg")
    for name in names_of(video_id(hers.artifact_hash)):
        assert (await site.client.get(folder + name)).status_code == 404, name


def names_of(video: UUID) -> list[str]:
    """What might lead from one's own video to another."""
    return [
        f"frames/{video}/2/0.jpg",
        f"frames/2/../../{video}/2/0.jpg",
        f"frames/..%2f{video}%2f2/0.jpg",
        f"{video}/2/0.jpg",
        "frames/02/0.jpg",
        "frames/2/00.jpg",
        "frames/2/0.jpg/",
        "frames/2/77.jpg",
    ]


async def test_pictures_go_with_their_video(site: Site) -> None:
    ada = await site.person()
    upload = await pictured(site, ada)
    address = str((await hits(site, ada))[0])
    async with site.world.database.transaction(ada.principal) as transaction:
        await transitions.delete(transaction, upload.artifact_hash, site.world.clock.now())
    assert (await site.client.get(address)).status_code == 404
    assert (await hits(site, ada))[0] is None
