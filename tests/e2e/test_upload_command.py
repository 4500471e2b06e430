"""`touchline upload` as a person uses it: interrupted, again, for another machine, without the right."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

from tests.support.videos import MP4, Studio

from .product import Product

MIB = 1024**2
INVALID, UNAUTHENTICATED, QUOTA = 2, 4, 6


def large(studio: Studio, parts: int) -> Path:
    """A whole video of some parts: what follows it is room that its container leaves free."""
    video = studio.make(MP4).read_bytes()
    free = (parts * 20 - 10) * MIB
    return studio.write("large.mp4", video + struct.pack(">I4s", free, b"free") + bytes(free - 8))


def test_an_interrupted_upload_goes_on_where_it_stopped(product: Product, studio: Studio) -> None:
    path = large(studio, parts=5)
    with product.installation.start("upload", str(path)) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("sent 1 of 5"):
                break
        process.kill()
        process.communicate()
    with product.installation.start("upload", str(path), "--json") as process:
        output, errors = process.communicate()
    done = json.loads(output)
    [first, *_] = re.findall(r"sent (\d+) of 5", errors) or ["5"]
    assert int(first) > 1, "what had arrived is not sent again"
    uploads = product.rows("SELECT artifact_hash FROM serve.uploads WHERE file_name = 'large.mp4'")
    assert [row["artifact_hash"] for row in uploads] == [done["artifact_hash"]]


def test_the_same_command_again_answers_the_same_video(product: Product, studio: Studio) -> None:
    first, again = (product.upload(str(studio.make(MP4)), "--title", "Twice") for _ in range(2))
    assert first == again
    assert first[0] == 0


def test_what_was_deleted_is_uploaded_anew(product: Product, studio: Studio) -> None:
    _, first = product.upload(str(studio.make(MP4)), "--title", "Deleted")
    delete = "mutation ($hash: String!) { deleteVod(artifactHash: $hash) { __typename } }"
    assert product.graphql(delete, hash=first["artifact_hash"]) == {"deleteVod": {"__typename": "DeletedVod"}}
    code, second = product.upload(str(studio.make(MP4)), "--title", "Deleted")
    assert code == 0
    assert second["artifact_hash"] != first["artifact_hash"]


def test_another_machine_needs_a_token_that_is_valid(product: Product, studio: Studio, tmp_path: Path) -> None:
    video, token = str(studio.make(MP4)), tmp_path / "token"
    elsewhere = ("--server", product.url, "--title", "From afar")
    assert _error(product.upload(video, *elsewhere)) == (INVALID, "invalid_input")
    token.write_text("tl_wrong")
    assert _error(product.upload(video, *elsewhere, "--token-file", str(token))) == (UNAUTHENTICATED, "unauthenticated")
    token.write_text(product.token)
    assert product.upload(video, *elsewhere, "--token-file", str(token))[0] == 0


def _error(outcome: tuple[int, Any]) -> tuple[int, str]:
    code, document = outcome
    return code, document["error"]["code"]
