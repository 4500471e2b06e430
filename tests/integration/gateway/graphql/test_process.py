"""What the pipeline knows of a video, over GraphQL."""

from __future__ import annotations

from typing import Any

from touchline.kernel import Role
from touchline.serve.artifacts import transitions

from .processed import processed
from .site import Person, Site

VIDEO = """
query($artifactHash: String!, $page: PageInput) { video(artifactHash: $artifactHash) {
  status isPlayable isSearchable durationMs
  stages { jobType status progressPercent errorType }
  segments: segmentsConnection(page: $page) {
    totalCount
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node { text tStart tEnd confidence boundingBox { x y width height frameWidth frameHeight } } }
  }
  entities: entitiesConnection { totalCount edges { node { entityType value normalizedValue numberKind tStart } } }
} }
"""
TEXTS = ["Goal 1-0", "@NorthBank", "Second half", "Henrik Dahl", "Full time"]


async def ask(site: Site, person: Person, artifact_hash: str, **page: Any) -> dict[str, Any]:
    return (await site.data(person, VIDEO, artifactHash=artifact_hash, page=page or None))["video"]


def texts(video: dict[str, Any]) -> list[str]:
    return [edge["node"]["text"] for edge in video["segments"]["edges"]]


async def test_text_stages_and_both_kinds_of_ready(site: Site) -> None:
    person = await site.person(Role.EDITOR)
    upload = await site.ready(person)
    assert await ask(site, person, upload.artifact_hash) is None, "nobody has begun"
    await processed(site, person, upload, TEXTS)
    video = await ask(site, person, upload.artifact_hash)
    assert (video["status"], video["isPlayable"], video["isSearchable"]) == ("ready", True, True)
    assert [(stage["jobType"], stage["status"]) for stage in video["stages"]] == [
        ("transcode", "queued"), ("sample", None), ("ocr", None), ("segment_index", None),
    ]  # fmt: skip
    assert texts(video) == TEXTS
    assert video["segments"]["edges"][1]["node"] | {"confidence": 0.9} == {
        "text": "@NorthBank",
        "tStart": 2000,
        "tEnd": 4000,
        "confidence": 0.9,
        "boundingBox": {"x": 1, "y": 2, "width": 30, "height": 4, "frameWidth": 640, "frameHeight": 360},
    }
    assert [edge["node"]["value"] for edge in video["entities"]["edges"]] == ["1-0", "@NorthBank"]
    assert video["entities"]["edges"][0]["node"]["numberKind"] == "score"


async def test_pages_go_both_ways(site: Site) -> None:
    person = await site.person(Role.EDITOR)
    upload = await site.ready(person)
    await processed(site, person, upload, TEXTS)
    first = await ask(site, person, upload.artifact_hash, first=2)
    assert (texts(first), first["segments"]["totalCount"]) == (TEXTS[:2], 5)
    info = first["segments"]["pageInfo"]
    assert (info["hasNextPage"], info["hasPreviousPage"]) == (True, False)
    second = await ask(site, person, upload.artifact_hash, first=2, after=info["endCursor"])
    assert texts(second) == TEXTS[2:4]
    back = await ask(site, person, upload.artifact_hash, last=1, before=second["segments"]["pageInfo"]["startCursor"])
    assert texts(back) == TEXTS[1:2]
    last = await ask(site, person, upload.artifact_hash, last=2)
    assert (texts(last), last["segments"]["pageInfo"]["hasNextPage"]) == (TEXTS[3:], False)
    behind = await ask(site, person, upload.artifact_hash, after=last["segments"]["pageInfo"]["endCursor"])
    assert (texts(behind), behind["segments"]["totalCount"]) == ([], 5)


PLAYBACK = """
query($id: String!) { playback(playbackId: $id) { ... on Playback { manifestUrl storyboardUrl } } }
"""


async def test_a_storyboard_lies_beside_its_playlist(site: Site) -> None:
    person = await site.person(Role.EDITOR)
    upload = await site.ready(person)
    assert (await site.data(person, PLAYBACK, id=upload.playback_id))["playback"]["storyboardUrl"] is None
    await processed(site, person, upload, [])
    playback = (await site.data(person, PLAYBACK, id=upload.playback_id))["playback"]
    folder = playback["manifestUrl"].removesuffix("index.m3u8")
    assert playback["storyboardUrl"].startswith(folder.partition("/media/")[0] + "/media/")
    assert playback["storyboardUrl"].endswith(f"/{upload.artifact_hash}/storyboard.vtt")


async def test_what_was_deleted_has_no_text_any_more(site: Site) -> None:
    person = await site.person(Role.EDITOR)
    upload = await site.ready(person)
    await processed(site, person, upload, TEXTS)
    async with site.world.database.transaction(person.principal) as transaction:
        await transitions.delete(transaction, upload.artifact_hash, site.world.clock.now())
    assert await ask(site, person, upload.artifact_hash) is None
