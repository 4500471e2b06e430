"""Which calls were seen already.

Invariant: no call is admitted twice, and no more than `most` are remembered: when there are more, the oldest are
forgotten and everything as old as them is refused.
"""

from __future__ import annotations

from datetime import timedelta
from heapq import heappop, heappush


class ReplayGuard:
    def __init__(self, tolerance: timedelta, most: int) -> None:
        self._tolerance_ms = tolerance // timedelta(milliseconds=1)
        self._most = most
        self._seen: set[bytes] = set()
        self._by_time: list[tuple[int, bytes]] = []
        self._forgotten_ms = 0  # the newest time of which a call was forgotten

    def admit(self, nonce: bytes, time_ms: int, now_ms: int) -> bool:
        if abs(now_ms - time_ms) > self._tolerance_ms or time_ms <= self._forgotten_ms or nonce in self._seen:
            return False
        self._seen.add(nonce)
        heappush(self._by_time, (time_ms, nonce))
        while len(self._by_time) > self._most or self._by_time[0][0] < now_ms - self._tolerance_ms:
            self._forgotten_ms, forgotten = heappop(self._by_time)
            self._seen.remove(forgotten)
        return True
