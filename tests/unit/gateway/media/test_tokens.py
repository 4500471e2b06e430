from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.gateway.media_links import MediaLinks, expiry
from touchline.kernel import ArtifactHash, Forbidden, ManualClock, PlaybackId, TenantId
from touchline.serve.playback.tokens import Grant, MediaTokens

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
HASH, OTHER = ArtifactHash("0123456789abcdef" * 2), ArtifactHash("f" * 32)
GRANT = Grant(TenantId(UUID(int=7)), PlaybackId("abcdefgh01234567"), HASH, NOW + timedelta(hours=1))
TOKENS = MediaTokens("the secret of this cluster")
TOKEN = TOKENS.sign(GRANT)


def test_a_token_says_what_was_granted() -> None:
    assert TOKENS.read(TOKEN, HASH, NOW) == GRANT
    assert MediaTokens("the secret of this cluster").read(TOKEN, HASH, NOW) == GRANT


def test_a_token_says_for_which_share_link_it_was_given() -> None:
    shared = replace(GRANT, share_link_id=UUID(int=9))
    assert TOKENS.read(TOKENS.sign(shared), HASH, NOW) == shared
    assert TOKENS.sign(shared) != TOKEN


def test_it_is_long_enough_to_be_kept_out_of_logs_and_needs_no_escaping() -> None:
    assert len(TOKEN) > 16
    assert TOKEN.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize(
    ("case", "token", "artifact_hash", "now"),
    [
        ("over", TOKEN, HASH, GRANT.expires_at),
        ("long over", TOKEN, HASH, NOW + timedelta(days=400)),
        ("for another artifact", TOKEN, OTHER, NOW),
        ("of another installation", MediaTokens("another secret").sign(GRANT), HASH, NOW),
        ("nothing", "", HASH, NOW),
        ("not ASCII", "é", HASH, NOW),
        ("too short", TOKEN[:-1], HASH, NOW),
        ("too long", TOKEN + "A", HASH, NOW),
        ("a hash that is none", TOKEN, "\udcff", NOW),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(case: str, token: str, artifact_hash: str, now: datetime) -> None:
    with pytest.raises(Forbidden) as refused:
        TOKENS.read(token, artifact_hash, now)
    assert str(refused.value) == "the media address is not valid: it has expired, or was modified", case


@given(st.integers(min_value=0, max_value=len(TOKEN) - 1), st.sampled_from("ABCabc019-_"))
def test_no_changed_token_passes(where: int, letter: str) -> None:
    _reads_only_its_own_spelling(TOKEN[:where] + letter + TOKEN[where + 1 :])


RAW = urlsafe_b64decode(TOKEN + "=" * (-len(TOKEN) % 4))
STRAY = st.one_of(st.characters(), st.sampled_from(list("=+/ \n\r\t\x00.~%\u200b\ud800ä🎬")))


@given(st.lists(st.tuples(st.integers(0, len(TOKEN)), st.text(STRAY, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_junk_inside_a_token_is_a_wrong_signature_like_any_other(inserted: list[tuple[int, str]]) -> None:
    """Decoders skip letters that they do not know, and stop at the first padding."""
    changed = TOKEN
    for where, junk in inserted:
        changed = changed[:where] + junk + changed[where:]
    _reads_only_its_own_spelling(changed)


@given(st.text(STRAY | st.sampled_from(TOKEN), max_size=2 * len(TOKEN)))
def test_what_is_no_token_at_all_is_refused(text: str) -> None:
    _reads_only_its_own_spelling(text)


@pytest.mark.parametrize(
    ("case", "spelling"),
    [
        ("padded", TOKEN + "="),
        ("padded twice", TOKEN + "=="),
        ("the other alphabet", b64encode(RAW).decode().rstrip("=")),
        ("loose bits", TOKEN[:-1] + chr(ord(TOKEN[-1]) + 1)),
        ("behind the end", TOKEN + "=AAAA"),
        ("a line break", TOKEN[:40] + "\n" + TOKEN[40:]),
        ("full-width letters", TOKEN.translate({ord("A") + n: 0xFF21 + n for n in range(26)})),
    ],
)
def test_one_grant_has_one_spelling(case: str, spelling: str) -> None:
    if spelling != TOKEN:
        with pytest.raises(Forbidden):
            TOKENS.read(spelling, HASH, NOW)


def _reads_only_its_own_spelling(text: str) -> None:
    if text == TOKEN:
        assert TOKENS.read(text, HASH, NOW) == GRANT
        return
    with pytest.raises(Forbidden) as refused:
        TOKENS.read(text, HASH, NOW)
    assert str(refused.value) == "the media address is not valid: it has expired, or was modified"


def test_an_end_before_the_start_of_time_is_over() -> None:
    token = TOKENS.sign(replace(GRANT, expires_at=datetime(1970, 1, 1, tzinfo=UTC)))
    with pytest.raises(Forbidden):
        TOKENS.read(token, HASH, NOW)


# --- links


def test_a_link_is_a_path_that_the_token_opens() -> None:
    clock = ManualClock(NOW)
    links = MediaLinks(TOKENS, timedelta(hours=6), clock)
    link = links.manifest(GRANT.tenant_id, GRANT.playback_id, HASH)
    empty, media, token, artifact_hash, name = link.url.split("/")
    assert (empty, media, artifact_hash, name) == ("", "media", HASH, "index.m3u8")
    assert TOKENS.read(token, artifact_hash, NOW) == replace(GRANT, expires_at=link.expires_at)
    assert links.poster(GRANT.tenant_id, GRANT.playback_id, HASH).url.endswith("/poster.jpg")
    assert token not in repr(link)


def test_a_link_stays_the_same_for_an_hour_so_that_pictures_stay_cached() -> None:
    clock = ManualClock(NOW + timedelta(minutes=1))
    links = MediaLinks(TOKENS, timedelta(hours=6), clock)
    ids = GRANT.tenant_id, GRANT.playback_id, HASH
    first = links.poster(*ids)
    clock.advance(timedelta(minutes=58))
    assert links.poster(*ids) == first
    clock.advance(timedelta(minutes=2))
    assert links.poster(*ids) != first


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.integers(min_value=60, max_value=10**6),
)
def test_a_link_lives_as_long_as_promised_and_little_longer(now: datetime, seconds: int) -> None:
    lifetime = timedelta(seconds=seconds)
    assert lifetime <= expiry(now, lifetime) - now <= lifetime * 7 / 6
