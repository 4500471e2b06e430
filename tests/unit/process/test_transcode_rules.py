from __future__ import annotations

from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput
from touchline.process import files
from touchline.process.transcode import worker
from touchline.process.transcode.worker import TranscodeStage

VIDEO = UUID("a1b2c3d4-e5f6-7890-abcd-ef1234567890")
PLAYLIST = """#EXTM3U
#EXT-X-VERSION:7
#EXT-X-MAP:URI="init.mp4"

#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="b",URI="audio/index.m3u8",DEFAULT=YES
#EXTINF:4.0,
segment_00000.m4s
"""


def test_keys_are_the_contracts_with_the_attempt_between() -> None:
    assert worker.proxy_key(VIDEO, 3, "720p/segment_0.m4s") == f"videos/proxy/{VIDEO}/3/720p/segment_0.m4s"
    assert worker.poster_key(VIDEO, 3) == f"thumbs/{VIDEO}/3/poster.jpg"
    assert worker.fixed_manifest_key(VIDEO) == f"videos/proxy/{VIDEO}/index.m3u8"
    assert worker.fixed_poster_key(VIDEO) == f"thumbs/{VIDEO}/poster.jpg"


@pytest.mark.parametrize("path", ["../x.ts", "a//b", "/x", ".hidden", "a\nb"])
def test_a_name_cannot_leave_the_attempts_folder(path: str) -> None:
    with pytest.raises(InvalidInput):
        worker.proxy_key(VIDEO, 1, path)


def test_the_pointing_playlist_names_the_same_files_from_one_level_above() -> None:
    assert worker.fixed_playlist(PLAYLIST, "12").splitlines() == [
        "#EXTM3U",
        "#EXT-X-VERSION:7",
        '#EXT-X-MAP:URI="12/init.mp4"',
        "",
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="b",URI="12/audio/index.m3u8",DEFAULT=YES',
        "#EXTINF:4.0,",
        "12/segment_00000.m4s",
    ]


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("index.m3u8", "application/vnd.apple.mpegurl"),
        ("a/segment_0.ts", "video/mp2t"),
        ("a/segment_0.m4s", "video/iso.segment"),
        ("a/init.mp4", "video/mp4"),
        ("poster.jpg", "image/jpeg"),
        ("unknown.bin", "application/octet-stream"),
        ("no ending", "application/octet-stream"),
    ],
)
def test_content_types(path: str, content_type: str) -> None:
    assert files.content_type(path) == content_type


@given(st.sampled_from(TranscodeStage), st.floats(allow_nan=False))
def test_a_stage_stays_within_its_share(stage: TranscodeStage, share: float) -> None:
    start, stop = stage.value
    assert start <= stage.percent(share) <= stop


def test_the_stages_follow_each_other_and_leave_the_last_percent_to_the_commit() -> None:
    borders = [stage.value for stage in TranscodeStage]
    assert borders[0][0] == 0
    assert borders[-1][1] == 99
    assert all(before[1] == after[0] for before, after in pairwise(borders))
