"""The process that speaks SRT: `python -m touchline.serve.ingest.srt_child`, isolated, started by `srt`.

It loads libsrt, takes over a bound UDP socket from its parent, asks the parent for each caller, and copies what an
admitted caller sends into a socket of that caller. It is fed by strangers, so it has no network, no files, no secrets.

Invariants: libsrt receives for all callers in the thread that calls us for a new one, so little time is spent there.
A key is passed on to the parent and to nobody else.
"""

from __future__ import annotations

import ctypes
import json
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

NAMES = ("libsrt.so.1.5", "libsrt-gnutls.so.1.5", "libsrt-openssl.so.1.5", "libsrt.so.1.4", "libsrt-gnutls.so.1.4")
READY = b"ready\n"
NO_LIBRARY = "libsrt is not installed"  # how a missing library is told apart from what else can go wrong
MAX_REQUEST_BYTES = 4096
MAX_STREAM_ID_BYTES = 512  # as SRT limits it
ADMITTED = b"0"
ANSWER_BYTES = 8
ANSWER_S = 10.0
ABANDONED_S = 20.0
LINE_S = 0.25
BACKLOG = 128
PACKET_BYTES = 2048  # more than a packet of live streams holds
STACK_BYTES = 256 * 1024
RECEIVE_BYTES = 4 * 1024**2  # of one publisher, when the parent takes nothing
WINDOW_PACKETS = 4096
LOG_CRITICAL = 2

# Options, errors and reasons of libsrt, by its header files.
RECEIVE_BUFFER, RECEIVE_TIMEOUT, FLOW_WINDOW, LATENCY = 6, 14, 4, 43
TIMED_OUT = 6003
RECEIVE_TIMEOUT_MS = 1000
BAD_REQUEST, OVERLOAD, BAD_MODE, INTERNAL_ERROR = 1400, 1402, 1405, 1500

Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)


class Rejected(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def stream_key(stream_id: bytes) -> str:
    """The key that a caller publishes: its stream id as it is, or the resource of one in SRT's own form."""
    try:
        text = stream_id.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Rejected(BAD_REQUEST) from error
    if text.startswith("#!::"):
        pairs = [part.partition("=") for part in text[4:].split(",")]
        fields = {name: value for name, _, value in pairs}
        if fields.get("m", "publish") != "publish":
            raise Rejected(BAD_MODE)
        text = fields.get("r", "")
    if not text or "\0" in text or len(text.encode()) > MAX_STREAM_ID_BYTES:
        raise Rejected(BAD_REQUEST)
    return text


class WaitBudget:
    """How long callers may hold up those who send: a share of the time, so that many cannot stop the streams."""

    def __init__(self, now: float, share: float = 0.25, most_s: float = 0.25) -> None:
        self._left_s, self._at, self._share, self._most_s = most_s, now, share, most_s

    def left_s(self, now: float) -> float:
        self._left_s = min(self._most_s, self._left_s + (now - self._at) * self._share)
        self._at = now
        return max(0.0, self._left_s)

    def spend(self, seconds: float) -> None:
        self._left_s -= seconds


class Library:
    """What is used of libsrt."""

    def __init__(self, path: str) -> None:
        self.functions = _load([path] if path else NAMES)
        self.functions.srt_getlasterror_str.restype = ctypes.c_char_p
        if self.functions.srt_startup() < 0:
            raise OSError("libsrt does not start")
        self.functions.srt_setloglevel(LOG_CRITICAL)  # its lines could hold stream ids

    def listener(self, udp: int, latency_ms: int, callback: Any) -> int:
        number: int = self.functions.srt_create_socket()
        options = {LATENCY: latency_ms, FLOW_WINDOW: WINDOW_PACKETS, RECEIVE_BUFFER: RECEIVE_BYTES}
        for option, value in {**options, RECEIVE_TIMEOUT: RECEIVE_TIMEOUT_MS}.items():
            self._check(self.functions.srt_setsockflag(number, option, ctypes.byref(ctypes.c_int(value)), 4))
        self._check(self.functions.srt_bind_acquire(number, udp))
        self._check(self.functions.srt_listen_callback(number, callback, None))
        self._check(self.functions.srt_listen(number, BACKLOG))
        return number

    def accept(self, listener: int) -> int:
        """Below 0: this caller is gone already."""
        return self.functions.srt_accept(listener, None, None)

    def receive(self, number: int, buffer: Any) -> int:
        """How many bytes; 0 where none came in time, -1 at the end."""
        count = self.functions.srt_recv(number, buffer, PACKET_BYTES)
        if count < 0:
            return 0 if self.functions.srt_getlasterror(None) == TIMED_OUT else -1
        return count or -1

    def reject(self, number: int, code: int) -> None:
        self.functions.srt_setrejectreason(number, code)

    def close(self, number: int) -> None:
        self.functions.srt_close(number)

    def _check(self, answer: int) -> None:
        if answer < 0:
            raise OSError(f"libsrt cannot listen: {self.functions.srt_getlasterror_str().decode()}")


def _load(names: Sequence[str]) -> ctypes.CDLL:
    why = ""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            why = why or str(error)
    raise OSError(f"{NO_LIBRARY}: {why}")


class Child:
    def __init__(self, line: socket.socket, order: dict[str, Any], udp: int) -> None:
        self._line = line
        self._library = Library(str(order["library"]))
        self._callers: dict[int, tuple[socket.socket, bool, float]] = {}  # until they are accepted
        self._lock = threading.Lock()
        self._budget = WaitBudget(time.monotonic())
        self._callback = Callback(self._on_caller)  # kept: libsrt holds only its address
        self._listener = self._library.listener(udp, int(order["latency_ms"]), self._callback)

    def run(self) -> None:
        while True:
            number = self._library.accept(self._listener)
            caller = self._taken(number)
            if caller:
                threading.Thread(target=self._pass_on, args=(number, *caller), daemon=True).start()

    def _taken(self, number: int) -> tuple[socket.socket, bool] | None:
        now = time.monotonic()
        with self._lock:
            found = self._callers.pop(number, None)
            for other in [one for one, (_, _, since) in self._callers.items() if now - since > ABANDONED_S]:
                self._callers.pop(other)[0].close()
        return found and found[:2]

    def _on_caller(self, _: Any, number: int, version: int, peer: int, stream_id: bytes | None) -> int:
        """In libsrt's receiving thread. An exception would count as yes."""
        try:
            self._ask(number, _address(peer), stream_key(stream_id or b""))
        except Rejected as rejected:
            self._library.reject(number, rejected.code)
            return -1
        except OSError:
            self._library.reject(number, OVERLOAD)
            return -1
        except BaseException:
            self._library.reject(number, INTERNAL_ERROR)
            return -1
        return 0

    def _ask(self, number: int, address: str, key: str) -> None:
        """Rejected: the parent said no. Where it says nothing soon, the caller is taken, and its answer read later."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                request = json.dumps({"key": key, "address": address}).encode()
                socket.send_fds(self._line, [request], [theirs.fileno()])
            is_admitted = self._is_admitted_soon(ours)
        except BaseException:
            ours.close()
            raise
        with self._lock:
            self._callers[number] = ours, is_admitted, time.monotonic()

    def _is_admitted_soon(self, ours: socket.socket) -> bool:
        begun = time.monotonic()
        left_s = self._budget.left_s(begun)
        try:
            if left_s < 0.001:
                return False
            _read_answer(ours, left_s)
        except TimeoutError:
            return False
        finally:
            self._budget.spend(time.monotonic() - begun)
        return True

    def _pass_on(self, number: int, ours: socket.socket, is_admitted: bool) -> None:
        with suppress(OSError, Rejected), ours:
            if not is_admitted:
                _read_answer(ours, ANSWER_S)
            ours.settimeout(None)
            self._copy(number, ours)
        self._library.close(number)

    def _copy(self, number: int, ours: socket.socket) -> None:
        buffer = ctypes.create_string_buffer(PACKET_BYTES)
        view = memoryview(buffer)
        while (count := self._library.receive(number, buffer)) >= 0:
            if count:
                ours.sendall(view[:count])
            elif _is_closed(ours):
                return


def _read_answer(ours: socket.socket, seconds: float) -> None:
    """Nothing: the parent has hung up."""
    ours.settimeout(seconds)
    answer = ours.recv(ANSWER_BYTES)
    if answer != ADMITTED:
        raise Rejected(int(answer) if answer.isdigit() else OVERLOAD)


def _is_closed(ours: socket.socket) -> bool:
    try:
        return not ours.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False


def _address(peer: int) -> str:
    """Of a `struct sockaddr`."""
    family = int.from_bytes(ctypes.string_at(peer, 2), sys.byteorder)
    begin, length = (4, 4) if family == socket.AF_INET else (8, 16)
    return socket.inet_ntop(family, ctypes.string_at(peer + begin, length))


def main(line: socket.socket) -> None:
    data, descriptors, _, _ = socket.recv_fds(line, MAX_REQUEST_BYTES, 1)
    threading.stack_size(STACK_BYTES)
    try:
        child = Child(line, json.loads(data), descriptors[0])
    except OSError as error:
        sys.exit(str(error))
    line.sendall(READY)
    line.settimeout(LINE_S)
    child.run()


if __name__ == "__main__":
    with socket.socket(fileno=0) as parent:
        main(parent)
