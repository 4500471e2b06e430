"""How long until everything is ready, first and again, after a stop and after a kill; and what it needs idle."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from support.report import report
from support.stack import product

LIMIT_MIB = 1536.0


def seconds(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def main() -> None:
    with product() as made:
        figures: dict[str, float | str] = {}
        figures["floor: python and the command line alone, s"] = floor = seconds(
            lambda: subprocess.run([sys.executable, "-m", "touchline", "version"], stdout=subprocess.PIPE, check=True)
        )
        figures["cold start to all ready, s"] = cold = seconds(lambda: made.touchline("up", "--detach"))
        status = made.touchline("status")
        figures["clean stop, s"] = seconds(lambda: made.touchline("down"))
        figures["warm start to all ready, s"] = warm = seconds(lambda: made.touchline("up", "--detach"))
        made.kill()
        figures["start after kill -9 of everything, s"] = killed = seconds(lambda: made.touchline("up", "--detach"))
        figures["ratio cold : warm"] = cold / warm
        figures["ratio after kill : warm"] = killed / warm
        figures["ratio warm : floor"] = warm / floor
    memory = {part["name"]: part["memory_bytes"] / 1024**2 for part in status["parts"]}
    memory["supervisor"] = status["memory_bytes"] / 1024**2
    figures |= {f"idle memory of {name}, MiB": size for name, size in memory.items()}
    figures["idle memory together, MiB"] = sum(memory.values())
    figures["ratio to the limit of 1.5 GiB"] = sum(memory.values()) / LIMIT_MIB
    report("stack", figures)


if __name__ == "__main__":
    main()
