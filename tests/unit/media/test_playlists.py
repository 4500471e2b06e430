from __future__ import annotations

from dataclasses import replace

from touchline.media.model import HlsRendition, Ratio
from touchline.media.playlists import PlaylistSegment, master_playlist, read_segments

HIGH = HlsRendition(
    name="1080p",
    playlist="1080p/index.m3u8",
    width=1920,
    height=1080,
    frame_rate=Ratio(30_000, 1001),
    codecs="avc1.640028,mp4a.40.2",
    peak_bits_per_second=6_000_000,
    average_bits_per_second=4_000_000,
    duration_ms=6000,
    segments=2,
    copied=True,
)
LOW = replace(HIGH, name="360p", playlist="360p/index.m3u8", width=640, height=360, peak_bits_per_second=800_000)
MEDIA = """#EXTM3U
#EXT-X-VERSION:7
#EXT-X-TARGETDURATION:4
#EXT-X-MAP:URI="init.mp4"
#EXTINF:4.000000,
segment_00000.m4s
#EXTINF:1.960000,with a title
#EXT-X-PROGRAM-DATE-TIME:2026-03-31T12:00:00Z
segment_00001.m4s
#EXT-X-ENDLIST
"""


def test_a_master_playlist_lists_the_best_first() -> None:
    assert master_playlist([LOW, HIGH]) == (
        "#EXTM3U\n"
        "#EXT-X-VERSION:7\n"
        "#EXT-X-INDEPENDENT-SEGMENTS\n"
        '#EXT-X-STREAM-INF:BANDWIDTH=6000000,AVERAGE-BANDWIDTH=4000000,CODECS="avc1.640028,mp4a.40.2",'
        "RESOLUTION=1920x1080,FRAME-RATE=29.970\n"
        "1080p/index.m3u8\n"
        '#EXT-X-STREAM-INF:BANDWIDTH=800000,AVERAGE-BANDWIDTH=4000000,CODECS="avc1.640028,mp4a.40.2",'
        "RESOLUTION=640x360,FRAME-RATE=29.970\n"
        "360p/index.m3u8\n"
    )


def test_a_lead_is_where_players_start() -> None:
    assert "\n#EXT-X-START:TIME-OFFSET=0.080000,PRECISE=YES\n" in master_playlist([LOW], lead_s=0.08)


def test_an_unknown_frame_rate_is_left_out() -> None:
    assert "FRAME-RATE" not in master_playlist([replace(HIGH, frame_rate=None)])


def test_the_segments_of_a_playlist() -> None:
    assert read_segments(MEDIA) == [
        PlaylistSegment("segment_00000.m4s", 4.0),
        PlaylistSegment("segment_00001.m4s", 1.96),
    ]
    assert read_segments("#EXTM3U\n") == []
