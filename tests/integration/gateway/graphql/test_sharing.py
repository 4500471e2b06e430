"""Playing without signing in, by share links and in frames of other sites, and what ends it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from touchline.apps.redaction import redact
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.composition import WebPage
from touchline.gateway.rest.serve import Sending
from touchline.kernel import Forbidden, Role, Scope
from touchline.serve.artifacts import transitions
from touchline.serve.settings import ServeSettings

from .site import PLAYLIST, STORE, Needs, Person, Plan, Site, running_site

FIELDS = "fragment Fields on ShareLink { id artifactHash createdBy createdAt expiresAt revokedAt }"
CREATE = f"""
mutation ($input: CreateShareLinkInput!) {{ createShareLink(input: $input) {{ __typename
  ... on CreatedShareLink {{ url shareLink {{ ...Fields }} }} ... on Problem {{ code message }}
  ... on ValidationError {{ field }} }} }} {FIELDS}
"""
LIST = f"query ($hash: String!) {{ shareLinks(artifactHash: $hash) {{ ...Fields }} }} {FIELDS}"
REVOKE = f"""
mutation ($id: String!) {{ revokeShareLink(id: $id) {{ __typename
  ... on RevokedShareLink {{ shareLink {{ ...Fields }} }} ... on Problem {{ code }} }} }} {FIELDS}
"""
SET_ORIGINS = """
mutation ($origins: [String!]!) { setEmbedOrigins(origins: $origins) { __typename
  ... on EmbedOrigins { origins } ... on Problem { code } ... on ValidationError { field } } }
"""
RESOLVE = """
query ($id: String!) { resolveViewerEndpoint(playbackId: $id) { __typename
  ... on ViewerEndpoints { primary { nodeId protocol baseUrl url } fallbacks { nodeId url } expiresAt
    metadata { contentType status title durationMs width height posterUrl } }
  ... on Problem { code } } }
"""
SOON = timedelta(seconds=10)  # within which a suspension must be felt


async def shared(site: Site, person: Person, artifact_hash: str, **more: Any) -> dict[str, Any]:
    made = (await site.data(person, CREATE, input={"artifactHash": artifact_hash, **more}))["createShareLink"]
    assert made["__typename"] == "CreatedShareLink", made
    return made


async def opened(site: Site, url: str) -> httpx.Response:
    """As the page of the link does it: without a session."""
    return await site.client.get(f"/api{urlsplit(url).path}")


async def is_over(site: Site, url: str) -> None:
    answer, never = await opened(site, url), await opened(site, "/share/tlv_" + "x" * 43)
    own = ("request_id",)
    same = [{k: v for k, v in each.json().items() if k not in own} for each in (answer, never)]
    assert (answer.status_code, same[0]) == (404, same[1])


async def test_a_link_plays_without_a_session_until_it_is_revoked(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada, "The final")
    made = await shared(site, ada, upload.artifact_hash)
    assert made["url"].startswith(f"{site.parts.settings.base_url}/share/tlv_")
    playback = (await opened(site, made["url"])).json()
    assert (playback["title"], playback["duration_ms"]) == ("The final", 60_000)
    manifest = await site.client.get(playback["manifest_url"])
    assert (manifest.status_code, manifest.content) == (200, PLAYLIST)
    assert (await site.client.get(playback["poster_url"])).status_code == 200

    [listed] = (await site.data(ada, LIST, hash=upload.artifact_hash))["shareLinks"]
    assert listed == made["shareLink"]
    assert made["url"].rpartition("/")[2] not in str(await site.ask(ada, LIST, hash=upload.artifact_hash))
    for _ in range(2):  # again is the same as once
        revoked = (await site.data(ada, REVOKE, id=listed["id"]))["revokeShareLink"]["shareLink"]
        assert revoked["revokedAt"]
    await is_over(site, made["url"])
    site.world.clock.advance(SOON)
    for address in (playback["manifest_url"], playback["poster_url"]):
        assert (await site.client.get(address)).status_code == 403
    # Whoever is signed in plays on: only the link has ended.
    own = site.media.links.manifest(ada.principal.tenant_id, upload.playback_id, upload.artifact_hash)
    assert (await site.client.get(own.url)).status_code == 200


async def test_a_link_ends_by_itself_and_so_does_what_it_gave(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    end = site.world.clock.now() + timedelta(minutes=5)
    made = await shared(site, ada, upload.artifact_hash, expiresAt=end.isoformat())
    playback = (await opened(site, made["url"])).json()
    assert datetime.fromisoformat(playback["expires_at"]) == end
    site.world.clock.advance(timedelta(minutes=5))
    await is_over(site, made["url"])
    assert (await site.client.get(playback["manifest_url"])).status_code == 403


async def test_a_link_of_a_deleted_video_is_over(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    made = await shared(site, ada, upload.artifact_hash)
    async with site.world.database.transaction(ada.principal) as transaction:
        await transitions.delete(transaction, upload.artifact_hash, site.world.clock.now())
    await is_over(site, made["url"])
    assert (await site.ask(ada, CREATE, input={"artifactHash": upload.artifact_hash}))["data"]["createShareLink"][
        "__typename"
    ] == "NotFoundError"


@pytest.mark.parametrize("after", [timedelta(seconds=30), timedelta(days=366), timedelta(days=-1)])
async def test_ends_that_no_link_may_have(site: Site, after: timedelta) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    end = (site.world.clock.now() + after).isoformat()
    wrong = await site.data(ada, CREATE, input={"artifactHash": upload.artifact_hash, "expiresAt": end})
    assert (wrong["createShareLink"]["__typename"], wrong["createShareLink"]["field"]) == (
        "ValidationError",
        "expiresAt",
    )
    assert (await site.data(ada, LIST, hash=upload.artifact_hash))["shareLinks"] == []


async def test_a_video_has_only_so_many_valid_links(needs: Needs) -> None:
    async with running_site(needs, few_links()) as site:
        ada = await site.person()
        upload = await site.ready(ada)
        first = await shared(site, ada, upload.artifact_hash)
        await shared(site, ada, upload.artifact_hash)
        third = (await site.data(ada, CREATE, input={"artifactHash": upload.artifact_hash}))["createShareLink"]
        assert third["__typename"] == "RateLimitError"
        await site.data(ada, REVOKE, id=first["shareLink"]["id"])
        await shared(site, ada, upload.artifact_hash)


def few_links() -> Plan:
    return Plan(serve=ServeSettings(share_links_per_artifact=2))


async def test_who_may_only_read_shares_nothing(site: Site) -> None:
    ada, viewer = await site.person(), await site.person(Role.VIEWER)
    upload = await site.ready(ada)
    refused = (await site.data(viewer, CREATE, input={"artifactHash": upload.artifact_hash}))["createShareLink"]
    assert refused["code"] == "forbidden"
    made = await shared(site, ada, upload.artifact_hash)
    assert (await site.data(viewer, REVOKE, id=made["shareLink"]["id"]))["revokeShareLink"]["code"] == "forbidden"
    assert len((await site.data(viewer, LIST, hash=upload.artifact_hash))["shareLinks"]) == 1


async def test_the_token_is_kept_as_a_hash_and_hidden_in_logs(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    made = await shared(site, ada, upload.artifact_hash)
    token = made["url"].rpartition("/")[2]
    assert token not in redact(f"GET {made['url']}")
    async with site.world.database.transaction(ada.principal) as transaction:
        cursor = await transaction.connection.execute("SELECT s::text FROM serve.share_links AS s")
        rows = await cursor.fetchall()
        log = await transaction.connection.execute(
            "SELECT data::text FROM platform.events WHERE type LIKE 'share_link.%'"
        )
        told = await log.fetchall()
    assert len(rows) == 1
    assert token.removeprefix("tlv_") not in f"{rows}{told}"


# --- endpoints


async def test_where_a_video_plays(site: Site) -> None:
    ada, eve = await site.person(), await site.person(Role.EDITOR, site.world.theirs)
    upload, half = await site.ready(ada, "The final"), await site.upload(ada)
    found = (await site.data(ada, RESOLVE, id=upload.playback_id.upper()))["resolveViewerEndpoint"]
    base = site.parts.settings.base_url
    assert (found["primary"]["nodeId"], found["primary"]["baseUrl"], found["fallbacks"]) == (None, base, [])
    path = found["primary"]["url"].removeprefix(base)
    assert (await site.client.get(path)).content == PLAYLIST
    facts = {"contentType": "upload", "status": "ready", "title": "The final", "width": 1920}
    assert facts.items() <= found["metadata"].items()
    for person, playback_id, code in (
        (ada, half.playback_id, "conflict"),
        (ada, "0" * 16, "not_found"),
        (eve, upload.playback_id, "not_found"),
    ):
        assert (await site.data(person, RESOLVE, id=playback_id))["resolveViewerEndpoint"]["code"] == code


# --- embedding


async def embedded(site: Site, playback_id: str) -> tuple[httpx.Response, httpx.Response]:
    """The document of the frame, and what it plays."""
    return await site.client.get(f"/embed/{playback_id}"), await site.client.get(f"/api/embed/{playback_id}")


async def test_listed_sites_may_show_a_video_and_nobody_else(needs: Needs, player_page: Plan) -> None:
    async with running_site(needs, player_page) as site:
        admin = await site.person(Role.ADMIN, None, Scope.READ, Scope.WRITE, Scope.ADMIN)
        upload = await site.ready(admin)
        never, before = await embedded(site, "0" * 16), await embedded(site, upload.playback_id)
        for unknown, unlisted in zip(never, before, strict=True):
            assert (unlisted.status_code, unknown.status_code) == (404, 404)
            assert unlisted.headers.get("content-security-policy") == unknown.headers.get("content-security-policy")
        assert "frame-ancestors 'none'" in before[0].headers["content-security-policy"]

        given = ["https://Blog.Example.org/", "http://localhost:8080", "https://blog.example.org:443"]
        done = (await site.data(admin, SET_ORIGINS, origins=given))["setEmbedOrigins"]
        assert done["origins"] == ["http://localhost:8080", "https://blog.example.org"]
        document, playback = await embedded(site, upload.playback_id)
        assert document.status_code == 200
        policy = document.headers["content-security-policy"]
        assert policy.endswith("frame-ancestors http://localhost:8080 https://blog.example.org")
        assert "x-frame-options" not in document.headers
        assert (await site.client.get(playback.json()["manifest_url"])).content == PLAYLIST
        # Everything else stays out of frames.
        for path in ("/", "/share/x", f"/watch/{upload.playback_id}", "/api/openapi.json"):
            elsewhere = await site.client.get(path)
            assert elsewhere.headers["x-frame-options"] == "DENY"
            assert "frame-ancestors 'none'" in elsewhere.headers["content-security-policy"]

        await site.data(admin, SET_ORIGINS, origins=[])
        assert [each.status_code for each in await embedded(site, upload.playback_id)] == [404, 404]


@pytest.fixture
def player_page(tmp_path: Path) -> Plan:
    """As if the page were built: documents are all that is asked for here."""
    folder = tmp_path / "page"
    folder.mkdir()
    for name in ("index.html", "player.html"):
        (folder / name).write_text(f"<title>{name}</title>")
    return Plan(page=WebPage(folder, STORE))


@pytest.mark.parametrize(
    "wrong",
    [
        "*",
        "https://*.example.org",
        "example.org",
        "https://example.org/path",
        "https://example.org; script-src *",
        "https://example.org https://other.example",
        "javascript:alert(1)",
        "https://user@example.org",
        "ftp://example.org",
        "https://",
        "https://example.org\n",
        "https://exa\u00adple.org",
        "https://" + "a" * 64 + ".org",
        "",
    ],
)
async def test_what_is_no_site_is_refused_by_name(site: Site, wrong: str) -> None:
    admin = await site.person(Role.ADMIN, None, Scope.READ, Scope.ADMIN)
    refused = (await site.data(admin, SET_ORIGINS, origins=["https://example.org", wrong]))["setEmbedOrigins"]
    expected = ("EmbedOrigins", None) if wrong.strip() == "https://example.org" else ("ValidationError", "origins")
    assert (refused["__typename"], refused.get("field")) == expected
    editor = await site.person()
    assert (await site.data(editor, SET_ORIGINS, origins=[]))["setEmbedOrigins"]["code"] == "forbidden"


# --- suspension


async def test_suspending_a_tenant_ends_all_of_its_playback_within_seconds(site: Site) -> None:
    admin = await site.person(Role.ADMIN, None, Scope.READ, Scope.WRITE, Scope.ADMIN)
    eve = await site.person(Role.EDITOR, site.world.theirs)
    upload, theirs = await site.ready(admin), await site.ready(eve)
    await site.data(admin, SET_ORIGINS, origins=["https://example.org"])
    made = await shared(site, admin, upload.artifact_hash)
    ids = admin.principal.tenant_id, upload.playback_id, upload.artifact_hash
    of_eve = site.media.links.manifest(eve.principal.tenant_id, theirs.playback_id, theirs.artifact_hash).url
    addresses = [
        site.media.links.manifest(*ids).url,
        site.media.links.poster(*ids).url,
        (await opened(site, made["url"])).json()["manifest_url"],
        (await site.client.get(f"/api/embed/{upload.playback_id}")).json()["manifest_url"],
    ]
    assert [(await site.client.get(address)).status_code for address in addresses] == [200] * 4

    tenants = site.world.auth.administration.tenants
    await tenants.suspend(COMMAND_LINE, admin.principal.tenant_id)  # and no event of it arrives anywhere
    site.world.clock.advance(SOON)
    assert [(await site.client.get(address)).status_code for address in addresses] == [403] * 4
    await is_over(site, made["url"])
    assert [each.status_code for each in await embedded(site, upload.playback_id)] == [404, 404]
    assert (await site.client.get(of_eve)).status_code == 200

    await tenants.resume(COMMAND_LINE, admin.principal.tenant_id)
    site.world.clock.advance(SOON)
    assert [(await site.client.get(address)).status_code for address in addresses] == [200] * 4


async def test_an_answer_under_way_ends_too(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    key = (await site.media.places.find(upload.playback_id)).manifest_key.replace("index.m3u8", "v0/large.m4s")
    await site.needs.objects.put_new(key, bytes(40 * 1024**2))
    url = site.media.links.manifest(ada.principal.tenant_id, upload.playback_id, upload.artifact_hash).url
    grant = site.media.tokens.read(url.split("/")[2], upload.artifact_hash, site.world.clock.now())
    chunks = site.needs.objects.stream(key)
    sending = Sending(site.media, grant, await site.needs.objects.head(key))
    whole = sending.whole(await anext(chunks), chunks, 40 * 1024**2)
    await anext(whole)
    await anext(whole)
    await site.world.auth.administration.tenants.suspend(COMMAND_LINE, ada.principal.tenant_id)
    site.world.clock.advance(SOON)
    with pytest.raises(Forbidden):
        await anext(whole)


async def test_playing_outlives_the_service_that_knows_links(separate_site: Site) -> None:
    site = separate_site
    ada = await site.person()
    upload = await site.ready(ada)
    made = await shared(site, ada, upload.artifact_hash)
    address = (await opened(site, made["url"])).json()["manifest_url"]
    assert (await site.client.get(address)).status_code == 200
    await site.stop_services()
    site.world.clock.advance(SOON)
    assert (await site.client.get(address)).status_code == 200
    assert (await opened(site, made["url"])).status_code == 503
