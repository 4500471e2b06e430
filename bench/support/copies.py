"""What happens to a clip on its way through the network, as FFmpeg filters.

Every copy shows its source; which of them a rule must find again, and how often, is in `GOALS`.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from imageio_ffmpeg import get_ffmpeg_exe

FILMED = (
    "scale=420:236,perspective=x0=10:y0=8:x1=414:y1=3:x2=2:y2=230:x3=411:y3=234:sense=destination,"
    "pad=480:270:28:16:0x181614,rotate=0.015:c=0x181614,noise=alls=9:allf=t,gblur=sigma=0.8,vignette=0.5,"
    "eq=contrast=0.85:brightness=0.04"
)
LOGO = "drawbox=x=404:y=10:w=64:h=34:color=white@0.85:t=fill,drawbox=x=412:y=18:w=32:h=18:color=red@0.9:t=fill"
CUT_OUT = "select='not(between(t,2.6,4.2))',setpts=N/25/TB"


@dataclass(frozen=True)
class Copy:
    """One way to change a clip. `kind` is the line of the table that it counts for."""

    kind: str
    name: str
    filters: str = "null"
    options: tuple[str, ...] = ("-crf", "24")


COPIES = (
    Copy("re-encode", "crf32", options=("-crf", "32")),
    Copy("re-encode", "150k", options=("-b:v", "150k", "-maxrate", "150k", "-bufsize", "300k")),
    Copy("re-encode", "600k", options=("-b:v", "600k", "-maxrate", "600k", "-bufsize", "1200k")),
    Copy("scale", "180p", "scale=320:180"),
    Copy("scale", "720p", "scale=1280:720"),
    Copy("scale", "squeezed", "scale=360:270,setsar=4/3"),
    Copy("logo", "corner", LOGO),
    Copy("logo", "banner", "drawbox=x=0:y=238:w=480:h=22:color=navy@0.9:t=fill"),
    Copy("cuts", "from 2.3 s", "trim=start=2.3,setpts=PTS-STARTPTS"),
    Copy("cuts", "1.1 s to 5.6 s", "trim=start=1.1:end=5.6,setpts=PTS-STARTPTS"),
    Copy("cuts", "1.6 s missing", CUT_OUT),
    Copy("letterbox", "to 4:3", "pad=480:360:0:45"),
    Copy("letterbox", "to 1:1", "pad=480:480:0:105"),
    Copy("letterbox", "pillars", "pad=600:270:60:0"),
    Copy("crop", "4 %", "crop=iw*0.96:ih*0.96,scale=480:270"),
    Copy("crop", "7 %", "crop=iw*0.93:ih*0.93,scale=480:270"),
    Copy("crop", "10 %", "crop=iw*0.9:ih*0.9,scale=480:270"),
    Copy("crop", "10 % of a side", "crop=iw*0.9:ih:0:0,scale=480:270"),
    Copy("speed", "+5 %", "setpts=PTS/1.05"),
    Copy("speed", "-5 %", "setpts=PTS/0.95"),
    Copy("brightness", "brighter", "eq=brightness=0.12:contrast=0.9"),
    Copy("brightness", "darker", "eq=brightness=-0.1:gamma=0.8"),
    Copy("black leader", "1.7 s", "tpad=start_duration=1.7:color=black"),
    Copy("mirrored", "left is right", "hflip"),
    Copy("filmed screen", "by a phone", FILMED),
)
# The least share that must be found again; for the others it is only reported.
GOALS = {"re-encode": 0.95, "scale": 0.95, "logo": 0.95, "cuts": 0.95, "crop": 0.80, "letterbox": 0.80}


def make_copy(source: Path, copy: Copy, path: Path) -> Path:
    codec = ("-c:v", "libx264", "-preset", "superfast", "-pix_fmt", "yuv420p", "-r", "25", "-an", *copy.options)
    command = [get_ffmpeg_exe(), "-loglevel", "error", "-y", "-i", str(source), "-vf", copy.filters, *codec, str(path)]
    subprocess.run(command, check=True)
    return path
