"""The task `survey`: one decoding of a video for its fingerprints and for pictures of some moments of it.

Where no fingerprint is wanted, nothing behind the last moment is decoded.
"""

from __future__ import annotations

from typing import Any

from touchline.media.fingerprint.formats import to_bytes
from touchline.media.fingerprint.model import FINGERPRINT, Style
from touchline.media.survey_model import Surveyed, SurveyOptions

from .channel import Channel
from .facts import learn
from .fingerprinting import fingerprints_of, sample_grid, samples_of
from .moments import Moments
from .order import Options
from .source import VideoSource, identify, open_source, ready_to_decode
from .sparing import needed_pictures


def survey(options: dict[str, Any], channel: Channel) -> Surveyed:
    bounds, wanted, kind = Options(**options["video"]), SurveyOptions(**options["survey"]), identify()
    facts, styles = learn(kind, bounds), [Style(each) for each in wanted.styles]
    with open_source(kind, bounds) as source:
        ready_to_decode(source.video, bounds, bounds.threads)
        if wanted.fast:
            _hurry(source)
        moments = Moments(wanted.moments_ms, source, facts, channel)
        pictures = moments.seen(needed_pictures(source, sample_grid(source)))
        fingerprints = list(fingerprints_of(styles, samples_of(pictures, source, facts, channel))) if styles else []
        moments.finish(pictures)
    for fingerprint in fingerprints:
        with channel.create(FINGERPRINT.format(fingerprint.style)) as file:
            file.write(to_bytes(fingerprint))
    return Surveyed(facts.duration_ms, len(fingerprints[0]) if fingerprints else 0, tuple(moments.taken_ms))


def _hurry(source: VideoSource) -> None:
    """Leave out what no other picture needs, and the smoothing that only eyes need."""
    context = source.video.codec_context
    context.skip_frame = "NONREF"
    context.options = {**context.options, "skip_loop_filter": "all"}
