"""A live stream of the running product: published by RTMP, played from its node and through the gateway."""

from __future__ import annotations

import re
import subprocess
from typing import Any
from uuid import uuid4

import httpx
from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingTypeStubs]

from tests.support.wait import eventually

from .product import RTMP_PORT, TIMEOUT_S, Product

CREATE = """
mutation ($input: CreateStreamInput!) { createStream(input: $input) {
  ... on StreamWithKey { streamKey stream { streamId playbackId } } } }
"""
RESOLVE = """
query ($id: String!) { resolveViewerEndpoint(playbackId: $id) { __typename
  ... on ViewerEndpoints { primary { nodeId url } fallbacks { nodeId url } metadata { contentType title posterUrl } }
  ... on Problem { code message } } }
"""
INPUTS = ("-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=15", "-re", "-f", "lavfi", "-i", "sine=440")
CODECS = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "15", "-c:a", "aac", "-f", "flv")


def resolved(product: Product, playback_id: str) -> dict[str, Any]:
    return product.graphql(RESOLVE, id=playback_id)["resolveViewerEndpoint"]


def played(url: str) -> int:
    """How many bytes the header and the first segment have that the playlists name."""
    with httpx.Client(timeout=TIMEOUT_S, trust_env=False) as viewer:
        master = viewer.get(url).raise_for_status().text
        [name] = [line for line in master.splitlines() if line and not line.startswith("#")]
        text = viewer.get(url.replace("index.m3u8", name)).raise_for_status().text
        [init] = re.findall(r'#EXT-X-MAP:URI="([^"]+)"', text)
        files = [init, *re.findall(r"^segment_\d+\.m4s$", text, re.MULTILINE)[:1]]
        if len(files) < 2:
            return 0  # it is still open
        return sum(len(viewer.get(url.replace("index.m3u8", file)).raise_for_status().content) for file in files)


def test_a_stream_is_played_from_its_node_and_through_the_gateway(product: Product) -> None:
    wanted = {"idempotencyKey": uuid4().hex, "title": "The derby"}
    made = product.graphql(CREATE, input=wanted)["createStream"]
    stream = made["stream"]
    assert resolved(product, stream["playbackId"])["code"] == "conflict"
    url = f"rtmp://127.0.0.1:{RTMP_PORT}/live"
    code, shown = product.installation.command("live", "show", stream["streamId"])
    assert (code, shown["publishUrls"][0]) == (0, url)
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", *INPUTS, *CODECS, f"{url}/{made['streamKey']}"]
    encoder = subprocess.Popen(command)
    try:
        eventually(lambda: product.installation.command("live", "show", stream["streamId"])[1]["isLive"])
        found = resolved(product, stream["playbackId"])
        assert found["metadata"]["contentType"] == "live"
        [gateway] = found["fallbacks"]
        assert gateway["nodeId"] is None
        from_node = eventually(lambda: played(found["primary"]["url"]))
        assert from_node == played(gateway["url"]) > 10_000
        assert httpx.get(found["metadata"]["posterUrl"], timeout=TIMEOUT_S).content.startswith(b"\xff\xd8")
    finally:
        encoder.kill()
        encoder.wait()
