from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.watch.discovery.client import MOST_VIDEOS_OF_POST, PostLink, each_video, is_post_id, read_link
from touchline.watch.discovery.rules import FoundVideo

HOSTS = ("twitter.com", "x.com", "127.0.0.1:8080")
ID = "1850000000000001001"


@pytest.mark.parametrize(
    ("url", "link"),
    [
        (f"https://x.com/fan/status/{ID}", PostLink(ID, None)),
        (f"https://twitter.com/fan/status/{ID}", PostLink(ID, None)),
        (f"http://www.twitter.com/fan/status/{ID}/", PostLink(ID, None)),
        (f"https://mobile.x.com/fan/statuses/{ID}", PostLink(ID, None)),
        (f"https://x.com/i/web/status/{ID}", PostLink(ID, None)),
        (f"https://x.com/fan/status/{ID}?s=20", PostLink(ID, None)),
        (f"https://x.com/fan/status/{ID}#m", PostLink(ID, None)),
        (f"https://X.com/fan/status/{ID}/video/2?s=20&t=x", PostLink(ID, 2)),
        (f"https://x.com/fan/status/{ID}/video/11", PostLink(ID, None)),
        (f"http://127.0.0.1:8080/social/fan/status/{ID}", PostLink(ID, None)),
        (f"http://127.0.0.1:8081/social/fan/status/{ID}", None),
        (f"https://x.com/fan/status/{ID[:17]}", None),
        (f"https://x.com/fan/status/{ID}abc", None),
        (f"https://x.com/fan/status/{ID * 2}", None),
        ("https://x.com/fan/status/١٨٥٠٠٠٠٠٠٠٠٠٠٠٠١٠٠١", None),
        (f"https://x.com.evil.example/fan/status/{ID}", None),
        (f"https://evil.example/x.com/fan/status/{ID}", None),
        (f"https://x.com@evil.example/fan/status/{ID}", None),
        (f"ftp://x.com/fan/status/{ID}", None),
        (f"x.com/fan/status/{ID}", None),
        ("https://x.com/fan", None),
        ("https://[", None),
        ("", None),
    ],
)
def test_links_to_posts(url: str, link: PostLink | None) -> None:
    assert read_link(url, HOSTS) == link


@given(st.text(alphabet=st.sampled_from("0123456789٣a -"), max_size=30))
def test_an_id_is_digits_and_not_too_few(text: str) -> None:
    assert is_post_id(text) == (text.isascii() and text.isdecimal() and 18 <= len(text) <= 25)


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    link = read_link(text, HOSTS)
    assert link is None or is_post_id(link.post_id)


def video(index: int = 1, post_id: str = ID, **more: float) -> FoundVideo:
    return FoundVideo(f"https://x.com/fan/status/{post_id}", post_id, index, **more)  # pyright: ignore[reportArgumentType]


def test_a_post_yields_each_of_its_videos() -> None:
    assert [each.video_index for each in each_video([(video(2), 4)])] == [1, 2, 3, 4]
    assert [each.duration_s for each in each_video([(video(2, duration_s=7.0), 2)])] == [None, 7.0]
    assert [each.video_index for each in each_video([(video(1), 1), (video(1), 1)])] == [1]
    assert len(list(each_video([(video(1), 99)]))) == MOST_VIDEOS_OF_POST


@given(st.lists(st.tuples(st.integers(1, 10), st.integers(1, 12), st.sampled_from([ID, ID[::-1]]))))
def test_each_video_comes_once(told: list[tuple[int, int, str]]) -> None:
    refs = [each.ref for each in each_video([(video(index, post), count) for index, count, post in told])]
    assert len(refs) == len(set(refs))
    assert {video(index, post).ref for index, _, post in told} <= {*refs}
    assert all(1 <= ref.video_index <= MOST_VIDEOS_OF_POST for ref in refs)
