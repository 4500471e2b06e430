"""Which part of a source a request for a clip means, and how much of it there is. Pure.

Times are milliseconds of the source: of an uploaded video from its beginning, of a stream and its recordings since
1970. Invariant: what makes no clip names the field that is wrong; a range lies in order and within the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from touchline.contracts.registry import ClipMode, NewClip, Span
from touchline.kernel import InvalidInput, epoch_ms, format_duration

MILLISECOND = timedelta(milliseconds=1)
BEYOND_MS = 1000  # sound may outlast the pictures a little: an end so far behind them is their end
LATEST_MS = 5 * 10**12  # the year 2128; what is added to it still fits everywhere


@dataclass(frozen=True, slots=True)
class Timeline:
    """The time of a source."""

    name: str  # what people call it
    begins_ms: int | None  # what `relative` counts from; None: it has not begun
    ends_ms: int | None = None  # None: it goes on
    now_ms: int | None = None  # None: its time is not ours, or it is over

    @property
    def is_media_time(self) -> bool:
        """Of an uploaded video: it begins at 0."""
        return self.begins_ms == 0


def upload_timeline(duration_ms: int) -> Timeline:
    """It has no other time than that of its media: `absolute` and `relative` are the same, and there is no now."""
    return Timeline("video", 0, duration_ms)


def stream_timeline(live_since: datetime | None, now: datetime) -> Timeline:
    return Timeline("stream", None if live_since is None else epoch_ms(live_since), None, epoch_ms(now))


def recording_timeline(started_at: datetime, ended_at: datetime | None, now: datetime) -> Timeline:
    if ended_at is not None:
        return Timeline("recording", epoch_ms(started_at), epoch_ms(ended_at))
    return Timeline("recording", epoch_ms(started_at), None, epoch_ms(now))


def requested_range(request: NewClip, timeline: Timeline, longest: timedelta) -> Span:
    """In the time of the source."""
    for name in ("start_ms", "end_ms", "duration_ms"):
        value: int | None = getattr(request, name)
        if value is not None and abs(value) > LATEST_MS:
            raise InvalidInput("not a valid time", field=name, why=f"the limit is {LATEST_MS:,} milliseconds")
    span = _last_part(request, timeline) if request.mode is ClipMode.CLIP_NOW else _from_a_start(request, timeline)
    end = "end_ms" if request.duration_ms is None else "duration_ms"
    _require_begun(span, timeline, "duration_ms" if request.mode is ClipMode.CLIP_NOW else "start_ms")
    _require_inside(span, timeline, end)
    if timeline.ends_ms is not None:
        span = Span(span.start_ms, min(span.end_ms, timeline.ends_ms))
    if span.end_ms - span.start_ms > longest // MILLISECOND:
        raise InvalidInput("the clip is too long", field=end, why=f"a clip may last {format_duration(longest)}")
    return span


def _last_part(request: NewClip, timeline: Timeline) -> Span:
    _refuse_given(request, "start_ms", "end_ms")
    if timeline.now_ms is None:
        why = f"this {timeline.name} is not live"
        raise InvalidInput("this mode cannot be used", field="mode", why=why, hint="Use `absolute`, with a start.")
    return Span(timeline.now_ms - _duration(request), timeline.now_ms)


def _from_a_start(request: NewClip, timeline: Timeline) -> Span:
    if request.start_ms is None:
        raise InvalidInput("a clip needs a start", field="start_ms", why=f"the mode is {request.mode}")
    start_ms = request.start_ms + _origin(request, timeline)
    if request.mode is ClipMode.DURATION:
        _refuse_given(request, "end_ms")
    elif request.end_ms is not None:
        _refuse_given(request, "duration_ms")
        end_ms = request.end_ms + start_ms - request.start_ms
        if end_ms <= start_ms:
            raise InvalidInput("the clip cannot end there", field="end_ms", why="the end must be after the start")
        return Span(start_ms, end_ms)
    elif request.duration_ms is None:
        raise InvalidInput("a clip needs an end", field="end_ms", why="it has neither an end nor a duration")
    return Span(start_ms, start_ms + _duration(request))


def _origin(request: NewClip, timeline: Timeline) -> int:
    """Where the times of the request begin."""
    if request.mode is not ClipMode.RELATIVE:
        return 0
    if timeline.begins_ms is None:
        why = f"the {timeline.name} has not started"
        raise InvalidInput("this mode cannot be used", field="mode", why=why)
    if request.start_ms is not None and request.start_ms < 0:
        raise InvalidInput("the clip cannot start there", field="start_ms", why=f"the {timeline.name} begins at 0")
    return timeline.begins_ms


def _require_begun(span: Span, timeline: Timeline, field: str) -> None:
    if span.start_ms < 0:
        why = f"the {timeline.name} begins at 0" if timeline.is_media_time else "times are counted since 1970"
        raise InvalidInput("the clip cannot start there", field=field, why=why)


def _require_inside(span: Span, timeline: Timeline, end: str) -> None:
    if timeline.now_ms is not None and span.start_ms >= timeline.now_ms:
        raise InvalidInput("the clip cannot start there", field="start_ms", why="it lies in the future")
    if timeline.ends_ms is None:
        return
    why = f"the {timeline.name} ends at {shown_time(timeline.ends_ms, timeline)}"
    if span.start_ms >= timeline.ends_ms:
        raise InvalidInput("the clip cannot start there", field="start_ms", why=why)
    if span.end_ms > timeline.ends_ms + BEYOND_MS:
        raise InvalidInput("the clip cannot end there", field=end, why=why)


def _duration(request: NewClip) -> int:
    if request.duration_ms is None:
        raise InvalidInput("a clip needs a duration", field="duration_ms", why=f"the mode is {request.mode}")
    if request.duration_ms <= 0:
        raise InvalidInput("the clip is empty", field="duration_ms", why="the duration must be greater than 0")
    return request.duration_ms


def _refuse_given(request: NewClip, *names: str) -> None:
    for name in names:
        if getattr(request, name) is not None:
            why = "an end was given already" if name == "duration_ms" else f"the mode is {request.mode}"
            raise InvalidInput("these options cannot be combined", field=name, why=why, hint="Leave it out.")


def common(one: Span, other: Span) -> Span:
    return Span(max(one.start_ms, other.start_ms), min(one.end_ms, other.end_ms))


# --- Times as people read them.


def shown_time(time_ms: int, timeline: Timeline) -> str:
    """`1:02:03.250`: of a stream since it began."""
    seconds, rest = divmod(time_ms - (timeline.begins_ms or 0), 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    front = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{front}:{seconds:02}" + (f".{rest:03}" if rest else "")
