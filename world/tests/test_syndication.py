"""`tweet-result` field by field against documents of the real endpoint, and what it says when there is nothing."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .conftest import Small


async def ask(small: Small, name: str, **asked: str) -> httpx.Response:
    wanted = {"id": small.posts[name].id, "token": "4x1", "lang": "en", **asked}
    return await small.client.get("/syndication/tweet-result", params=wanted)


async def test_a_post_with_a_video(small: Small) -> None:
    told: dict[str, Any] = (await ask(small, "video")).json()
    post_id, key = small.posts["video"].id, small.posts["video"].clips[0].recipe.key
    media = told.pop("mediaDetails")
    video = told.pop("video")
    link = {
        "display_url": f"pic.x.com/{post_id[-10:]}",
        "expanded_url": f"https://x.com/northportecho/status/{post_id}/video/1",
        "indices": [23, 46],
        "url": f"https://t.co/{post_id[-10:]}",
    }
    assert told == {
        "__typename": "Tweet",
        "lang": "es",
        "favorite_count": 1234,
        "possibly_sensitive": False,
        "created_at": "2026-03-14T12:55:00.000Z",
        "display_text_range": [0, 22],
        "entities": {
            "hashtags": [{"indices": [18, 22], "text": "NFC"}],
            "urls": [],
            "user_mentions": [],
            "symbols": [],
            "media": [link],
        },
        "id_str": post_id,
        "text": f"¡Gol de Sørensen! #NFC https://t.co/{post_id[-10:]}",
        "user": {
            "id_str": "55002",
            "name": "The Northport Echo",
            "profile_image_url_https": "https://abs.twimg.com/sticky/default_profile_images/default_profile_normal.png",
            "screen_name": "northportecho",
            "verified": False,
            "is_blue_verified": True,
            "profile_image_shape": "Circle",
        },
        "edit_control": {
            "edit_tweet_ids": [post_id],
            "editable_until_msecs": "1773496500000",
            "is_edit_eligible": True,
            "edits_remaining": "5",
        },
        "photos": [],
        "conversation_count": told["conversation_count"],
        "news_action_type": "conversation",
        "isEdited": False,
        "isStaleEdit": False,
    }
    assert told["text"][slice(*link["indices"])] == link["url"]
    (detail,) = media
    variants = detail["video_info"].pop("variants")
    folder = variants[0]["url"].removeprefix(f"{small.url}/media/").partition("/pl/")[0]
    assert folder.startswith("amplify_video/")
    assert detail == {
        "additional_media_info": {},
        **link,
        "ext_media_availability": {"status": "Available"},
        "media_url_https": video["poster"],
        "original_info": {"height": 720, "width": 1280, "focus_rects": []},
        "sizes": {
            "large": {"h": 720, "resize": "fit", "w": 1280},
            "medium": {"h": 675, "resize": "fit", "w": 1200},
            "small": {"h": 382, "resize": "fit", "w": 680},
            "thumb": {"h": 150, "resize": "crop", "w": 150},
        },
        "type": "video",
        "video_info": {"aspect_ratio": [16, 9], "duration_millis": 6000},
    }
    assert [(each["content_type"], each.get("bitrate")) for each in variants] == [
        ("application/x-mpegURL", None),
        ("video/mp4", 256_000),
        ("video/mp4", 832_000),
        ("video/mp4", 2_176_000),
    ]
    assert f"{small.url}/media/{folder}/vid/avc1/1280x720/" in variants[-1]["url"]
    assert variants[-1]["url"].endswith(f"/{key}.mp4?tag=14")
    assert video == {
        "aspectRatio": [16, 9],
        "contentType": "media_entity",
        "durationMs": 6000,
        "mediaAvailability": {"status": "available"},
        "poster": f"{small.url}/media/{folder.replace('/', '_thumb/')}/img/{key}.jpg",
        "variants": [{"type": each["content_type"], "src": each["url"]} for each in variants],
        "videoId": {"type": "tweet", "id": post_id},
        "viewCount": 0,
    }


async def test_a_post_with_two_videos_has_them_both(small: Small) -> None:
    told = (await ask(small, "two videos")).json()
    urls = [detail["video_info"]["variants"][-1]["url"] for detail in told["mediaDetails"]]
    assert len({*urls}) == 2
    assert [detail["expanded_url"][-8:] for detail in told["mediaDetails"]] == ["/video/1", "/video/2"]
    mentions = [(each["screen_name"], each["indices"]) for each in told["entities"]["user_mentions"]]
    assert mentions == [("northport", [23, 33])]


async def test_a_quotation(small: Small) -> None:
    told = (await ask(small, "quoting")).json()
    quoted = told["quoted_tweet"]
    assert "mediaDetails" not in told
    assert quoted["text"].startswith("The save of Ade https://t.co/")
    assert {"reply_count", "retweet_count", "favorite_count", "mediaDetails", "self_thread", "user"} <= {*quoted}
    assert {"__typename", "conversation_count"}.isdisjoint(quoted)


async def test_what_was_removed_has_a_tombstone(small: Small) -> None:
    told = (await ask(small, "removed")).json()
    assert told["__typename"] == "TweetTombstone"
    text = told["tombstone"]["text"]
    (entity,) = text["entities"]
    assert text["text"][entity["from_index"] : entity["to_index"]] == "Learn more"


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [
        ({"id": "1999999999999999999"}, 404, b""),
        ({"token": ""}, 200, b"{}"),
        ({"id": "../etc/passwd"}, 400, b'{"error":"Bad request."}'),
        ({"id": ""}, 400, b'{"error":"Bad request."}'),
    ],
)
async def test_nothing_to_tell(small: Small, asked: dict[str, str], status: int, content: bytes) -> None:
    answer = await ask(small, "video", **asked)
    assert (answer.status_code, answer.content) == (status, content)


async def test_what_is_not_yet_posted(small: Small) -> None:
    assert (await ask(small, "later")).status_code == 404


async def test_a_video_that_is_blocked_says_so(small: Small) -> None:
    (detail,) = (await ask(small, "blocked")).json()["mediaDetails"]
    assert detail["ext_media_availability"] == {"status": "Unavailable", "reason": "Geoblocked"}
