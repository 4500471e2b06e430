"""What both ends of a connection agree on: channel options, and how errors cross.

Invariant: an error has the same class and the same words on the other side; what is not one of our errors crosses as
`internal` and without its text, which may hold anything.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor

from touchline.contracts.rpc.v1.common_pb2 import Failure
from touchline.kernel import errors, surface

from .settings import RpcSettings

_FIRST_RECONNECT = timedelta(milliseconds=100)
_LONGEST_RECONNECT = timedelta(seconds=2)  # reconnect soon after a service is back, not after two minutes

Options = list[tuple[str, int]]


def method_path(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def client_options(settings: RpcSettings) -> Options:
    return [
        *_common_options(settings),
        ("grpc.enable_http_proxy", 0),
        ("grpc.initial_reconnect_backoff_ms", _milliseconds(_FIRST_RECONNECT)),
        ("grpc.min_reconnect_backoff_ms", _milliseconds(_FIRST_RECONNECT)),
        ("grpc.max_reconnect_backoff_ms", _milliseconds(_LONGEST_RECONNECT)),
    ]


def server_options(settings: RpcSettings) -> Options:
    return [
        *_common_options(settings),
        ("grpc.so_reuseport", 0),  # two servers on one port would each get half of the calls
        ("grpc.http2.min_ping_interval_without_data_ms", _milliseconds(settings.keepalive) // 2),
    ]


def _common_options(settings: RpcSettings) -> Options:
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


LONGEST_TEXT = 1000  # characters: a failure travels in the metadata, where 8 KiB is the limit
MILLISECOND = timedelta(milliseconds=1)
TOO_MANY = "Concurrent RPC limit"  # in the message of a busy server: its status is the same as for a large message


def to_failure(error: Exception) -> Failure:
    if not isinstance(error, errors.TouchlineError):
        return to_failure(errors.Defect("the service failed", why="the reason is in its log"))
    return Failure(
        code=error.code,
        what=error.what[:LONGEST_TEXT],
        why=error.why[:LONGEST_TEXT],
        hint=error.hint[:LONGEST_TEXT],
        field=error.field[:LONGEST_TEXT] if isinstance(error, errors.InvalidInput) else "",
        retry_after_ms=_retry_after_ms(error),
    )


def to_status(error: Exception) -> grpc.StatusCode:
    known = error if isinstance(error, errors.TouchlineError) else errors.Defect("")
    return grpc.StatusCode[surface(known).grpc]


def to_error(failure: Failure) -> errors.TouchlineError:
    kind = next((kind for kind in errors.error_classes() if kind.code == failure.code), None)
    if kind is None:
        return errors.Defect(failure.what, why=f"{failure.code}: {failure.why}", hint=failure.hint)
    more: dict[str, Any] = {}
    if issubclass(kind, errors.InvalidInput):
        more["field"] = failure.field
    if issubclass(kind, errors.RateLimited | errors.Warming) and failure.HasField("retry_after_ms"):
        more["retry_after"] = failure.retry_after_ms * MILLISECOND
    return kind(failure.what, why=failure.why, hint=failure.hint, **more)


def transport_error(code: grpc.StatusCode, details: str | None, method: str) -> errors.TouchlineError:
    """The error of a call that failed outside of the service: in the network, the client or the server."""
    why = f"{method}: {details or code.name.lower()}"
    match code:
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return errors.DeadlineExceeded("the service did not answer in time", why=why)
        case grpc.StatusCode.UNAUTHENTICATED:
            hint = "Give every process the same `cluster_secret`, and set the clocks of their machines."
            return errors.Misconfigured("the service refuses this process", why=why, hint=hint)
        case grpc.StatusCode.RESOURCE_EXHAUSTED if TOO_MANY not in why:
            return errors.LimitExceeded("the message is too large", why=why)
        case grpc.StatusCode.UNIMPLEMENTED:
            return errors.Defect("the service does not have this method", why=why, hint="Run one version everywhere.")
        case _:
            return errors.Unavailable("the service cannot be reached", why=why)


def _retry_after_ms(error: errors.TouchlineError) -> int | None:
    if isinstance(error, errors.RateLimited | errors.Warming) and error.retry_after is not None:
        return error.retry_after // MILLISECOND
    return None
