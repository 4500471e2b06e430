"""What `touchline demo` does when everything is ready: one video on its whole way, until it plays.

Invariant: it uses the product as anybody would. Again, it shows the same video, unless that was deleted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from touchline.gateway.auth.first import OPERATOR, first_sign_in_link
from touchline.gateway.auth.model import COMMAND_LINE
from touchline.gateway.auth.parts import build_administration
from touchline.gateway.auth.sessions.links import link_url
from touchline.kernel import SystemClock

from . import wiring
from .settings import Loaded
from .up import Tell
from .uploading.session import Access, Done, send

TITLE = "First touch"


@dataclass(frozen=True, slots=True)
class Shown:
    video: Done
    sign_in_link: str  # leads to the video


async def show_video(loaded: Loaded, tell: Tell) -> Shown:
    clock, base_url = SystemClock(), wiring.gateway_url(loaded)
    clip = await asyncio.to_thread(_clip, wiring.data_folder(loaded).root / "demo", tell)
    async with wiring.open_database(loaded) as database:
        await first_sign_in_link(database, base_url, loaded.settings.auth, clock)  # so that there is somebody
        video = await send(Access("", None, OPERATOR.email), clip, TITLE, tell)
        administration = build_administration(database, loaded.settings.auth, clock)
        user = await administration.users.by_email(COMMAND_LINE, OPERATOR.email)
        link = await administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    return Shown(video, link_url(base_url, link, then=f"/watch/{video.playback_id}"))


def _clip(folder: Path, tell: Tell) -> Path:
    clip = folder / "first-touch.mp4"
    if not clip.exists():
        from touchline.world.footage import draw_clip  # brings the codecs along

        tell("drawing a clip")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draw_clip(clip)
    return clip
