"""`touchline world encoder`: a match, live."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, progress, show, show_json
from touchline.kernel.values import parse_duration

if TYPE_CHECKING:
    from touchline.world.encoder.model import Options, Sent, Target

To = Annotated[str, typer.Option("--to", help="rtmp://host/application/key or srt://host:port?streamid=key.")]
Length = Annotated[
    timedelta | None,
    typer.Option(
        "--length", parser=parse_duration, metavar="DURATION", help="Of the match, such as 90s; else until Ctrl-C."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Which match.")]
Height = Annotated[int, typer.Option("--height", min=90, max=1080, help="Rows of the picture.")]
Speed = Annotated[float, typer.Option("--speed", min=0.1, max=20, help="How much faster than a clock it goes.")]


def encoder(
    to: To,
    length: Length = None,
    seed: Seed = 1,
    height: Height = 720,
    speed: Speed = 1.0,
    as_json: AsJson = False,
) -> None:
    """Publish a drawn match as a stream, and come back whenever the server was away."""
    from touchline.apps.redaction import redact
    from touchline.world.encoder.model import Options, Target

    target = Target.parse(to)
    redact.register(*target.secrets)
    length_ms = None if length is None else length // timedelta(milliseconds=1)
    sent = asyncio.run(_streamed(target, Options(seed, height // 2 * 2, speed, length_ms=length_ms)))
    if as_json:
        show_json({"to": target.shown, "match_ms": sent.at_ms, "pictures": sent.pictures})
    else:
        show(f"sent the match to {target.shown} until {sent.at_ms / 1000:.0f} s of it")


async def _streamed(target: Target, options: Options) -> Sent:
    from touchline.world.encoder.service import Told, stream

    def sending(sent: Sent) -> None:
        if sent.pictures == 1:
            progress(f"sending to {target.shown}, from {sent.at_ms / 1000:.0f} s of the match")

    def broken(why: str, rest: timedelta) -> None:
        progress(f"{target.shown} does not take the stream ({why}); again in {rest.total_seconds():.1f} s")

    return await stream(target, options, Told(sending, broken))
