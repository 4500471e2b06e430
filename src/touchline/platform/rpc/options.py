"""What both ends of a connection agree on."""

from __future__ import annotations

from datetime import timedelta

from .settings import RpcSettings

_FIRST_RECONNECT = timedelta(milliseconds=100)
_LONGEST_RECONNECT = timedelta(seconds=2)  # a service that is back must be found soon, not after two minutes

Options = list[tuple[str, int]]


def client_options(settings: RpcSettings) -> Options:
    return [
        *_both(settings),
        ("grpc.enable_http_proxy", 0),
        ("grpc.initial_reconnect_backoff_ms", _milliseconds(_FIRST_RECONNECT)),
        ("grpc.min_reconnect_backoff_ms", _milliseconds(_FIRST_RECONNECT)),
        ("grpc.max_reconnect_backoff_ms", _milliseconds(_LONGEST_RECONNECT)),
    ]


def server_options(settings: RpcSettings) -> Options:
    return [
        *_both(settings),
        ("grpc.so_reuseport", 0),  # two servers on one port would each get half of the calls
        ("grpc.http2.min_ping_interval_without_data_ms", _milliseconds(settings.keepalive) // 2),
    ]


def _both(settings: RpcSettings) -> Options:
    return [
        ("grpc.max_send_message_length", settings.max_message),
        ("grpc.max_receive_message_length", settings.max_message),
        ("grpc.keepalive_time_ms", _milliseconds(settings.keepalive)),
        ("grpc.keepalive_timeout_ms", _milliseconds(settings.keepalive_timeout)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    ]


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
