from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput, NotFound, TouchlineError, Unavailable
from touchline.media import segments
from touchline.media.segments import (
    PlaylistEntry,
    RecordingPlaylist,
    SegmentSource,
    SourceSegment,
    parse_recording,
    segments_of,
)

HEAD = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"
ONE = "#EXTINF:4.0,\none.ts\n"


async def parts(segments: SegmentSource) -> list[SourceSegment]:
    assert not isinstance(segments.parts, list | tuple)
    return [part async for part in segments.parts]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#EXTM3U\n", RecordingPlaylist((), 0, None, 0, is_complete=False)),
        (HEAD + ONE, RecordingPlaylist((PlaylistEntry("one.ts", 4_000_000),), 0, None, 4, is_complete=False)),
        (
            HEAD
            + '#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-MAP:URI="init.mp4"\n#EXTINF:1.0005,a title\na/b.m4s\n#EXT-X-ENDLIST\n',
            RecordingPlaylist((PlaylistEntry("a/b.m4s", 1_000_500),), 7, "init.mp4", 4, is_complete=True),
        ),
        (
            HEAD + "#EXT-X-KEY:METHOD=NONE\n# a remark\n\r\n" + ONE,
            RecordingPlaylist((PlaylistEntry("one.ts", 4_000_000),), 0, None, 4, False),
        ),
    ],
)
def test_what_a_playlist_says(text: str, expected: RecordingPlaylist) -> None:
    assert parse_recording(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not start with #EXTM3U"),
        ("ftypisom", "does not start with #EXTM3U"),
        (HEAD + "#EXT-X-STREAM-INF:BANDWIDTH=1\n720p/index.m3u8\n", "choose the playlist of one rendition"),
        (HEAD + "#EXT-X-BYTERANGE:100@0\n" + ONE, "byte ranges of files"),
        (HEAD + ONE + "#EXT-X-DISCONTINUITY\n" + ONE, "restart"),
        (HEAD + '#EXT-X-KEY:METHOD=AES-128,URI="key"\n' + ONE, "encrypted"),
        (HEAD + '#EXT-X-MAP:URI="a.mp4"\n' + ONE + '#EXT-X-MAP:URI="b.mp4"\n' + ONE, "different headers"),
        (HEAD + "#EXTINF:nan,\none.ts\n", "'nan' is not a number"),
        (HEAD + "#EXTINF:-4,\none.ts\n", "'-4' is not a number"),
        (HEAD + "#EXTINF:1e9,\none.ts\n", "'1e9' is not a number"),
    ],
)
def test_playlists_that_are_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_recording(text)
    assert why in refused.value.why


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidInput):
        assert all(entry.duration_us >= 0 for entry in parse_recording("#EXTM3U\n" + text).entries)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../one.ts", "a/../../one.ts", "http://host/one.ts", "file:one.ts", ".hidden", "a//b", "ä.ts"],
)
async def test_files_elsewhere(name: str, tmp_path: Path) -> None:
    playlist = tmp_path / "index.m3u8"
    playlist.write_text(f"{HEAD}#EXTINF:4.0,\n{name}\n#EXT-X-ENDLIST\n")
    with pytest.raises(InvalidInput, match="outside of its folder"):
        await parts(segments_of(playlist))
    playlist.write_text(f'{HEAD}#EXT-X-MAP:URI="{name}"\n{ONE}')
    with pytest.raises(InvalidInput, match="outside of its folder"):
        segments_of(playlist)


async def test_links_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    folder.mkdir()
    (tmp_path / "secret.ts").write_bytes(b"secret")
    (folder / "one.ts").symlink_to(tmp_path / "secret.ts")
    (folder / "index.m3u8").write_text(f"{HEAD}{ONE}#EXT-X-ENDLIST\n")
    with pytest.raises(InvalidInput, match="outside of its folder"):
        await parts(segments_of(folder / "index.m3u8"))


async def test_a_window_that_moves_on(tmp_path: Path) -> None:
    playlist, later = tmp_path / "index.m3u8", HEAD + "#EXT-X-MEDIA-SEQUENCE:4\n#EXTINF:2,\ntwo.ts\n#EXT-X-ENDLIST\n"
    playlist.write_text(HEAD + "#EXT-X-MEDIA-SEQUENCE:3\n" + ONE)
    followed = segments_of(playlist)
    playlist.write_text(later)
    assert await parts(followed) == [
        SourceSegment(tmp_path / "one.ts", 0, 4_000_000),
        SourceSegment(tmp_path / "two.ts", 4_000_000, 2_000_000),
    ]
    playlist.write_text(HEAD + ONE)
    followed = segments_of(playlist)
    playlist.write_text(later)
    with pytest.raises(Unavailable, match="moved on too fast"):
        await parts(followed)


async def test_a_recording_that_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LEAST_TIMEOUT_S", 0.0)
    playlist = tmp_path / "index.m3u8"
    playlist.write_text("#EXTM3U\n" + ONE)
    with pytest.raises(Unavailable, match="has stopped"):
        await parts(segments_of(playlist))


def test_no_playlist_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        segments_of(tmp_path / "none.m3u8")
    with pytest.raises(TouchlineError):
        segments_of(tmp_path)
