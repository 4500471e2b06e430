"""The two S3 clients (obstore for bytes in a task, boto3 in threads for the rest), and their errors as the kernel's.

Invariants: neither client reads the user's own AWS configuration or sends loopback traffic through a proxy. The event
loop waits neither for boto3's calls nor for its import. NotFound only when the store said so; whatever is not an
answer is Unavailable.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from ipaddress import ip_address
from logging import WARNING, getLogger
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import urlsplit

from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from touchline.kernel import errors
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.settings import ObjectsSettings

if TYPE_CHECKING:
    from boto3.session import Session
    from botocore.exceptions import BotoCoreError, ClientError
    from mypy_boto3_s3 import S3Client
    from obstore.store import ClientConfig, S3Credential


Make: TypeAlias = Callable[[str], errors.TouchlineError]

_CREDENTIALS_HINT = "Check the access key, its secret and its rights on the bucket in the settings of the object store."
_BUCKET_HINT = "Check the name of the bucket in the settings; `touchline up` creates it if it has permission."


def _no_bucket(subject: str) -> errors.TouchlineError:
    return errors.Misconfigured("the bucket does not exist", why=subject, hint=_BUCKET_HINT)


def _refused(subject: str) -> errors.TouchlineError:
    return errors.Misconfigured("the object store rejected the access key", why=subject, hint=_CREDENTIALS_HINT)


def _bad_parts(subject: str) -> errors.TouchlineError:
    return errors.InvalidInput("the list of parts does not match the upload", field="parts", why=subject)


BY_CODE: dict[str, Make] = {
    "AccessDenied": _refused,
    "NoSuchBucket": _no_bucket,
    "NoSuchUpload": lambda subject: errors.NotFound("no such upload", why=subject),
    "InvalidPart": _bad_parts,
    "InvalidPartOrder": _bad_parts,
    "EntityTooSmall": _bad_parts,
    "BadDigest": lambda subject: errors.Unavailable("the data was corrupted in transit", why=subject),
    "NotImplemented": lambda subject: errors.Defect("the object store does not support this", why=subject),
    "RequestTimeTooSkewed": lambda subject: errors.Misconfigured("this machine's clock is wrong", why=subject),
    "RequestTimeout": lambda subject: errors.DeadlineExceeded(
        "the object store timed out waiting for data", why=subject
    ),
}

BY_STATUS: dict[int, Make] = {
    401: _refused,
    403: _refused,
    404: lambda subject: errors.NotFound("no such object", why=subject),
    408: lambda subject: errors.DeadlineExceeded("the object store timed out", why=subject),
    409: lambda subject: errors.Conflict("another writer is changing the object", why=subject),
    412: lambda subject: errors.AlreadyExists("the object already exists", why=subject),
    416: lambda subject: errors.InvalidInput("the object ends before this range", field="range", why=subject),
    429: lambda subject: errors.Unavailable("the object store is throttling requests", why=subject),
}

_STATUS = re.compile(r"Server returned non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")


def error_from_response(status: int, code: str, subject: str) -> errors.TouchlineError:
    """The store responded with an error."""
    make = BY_CODE.get(code) or BY_STATUS.get(status)
    if make:
        return make(subject)
    reason = f"{subject}: {status} {code}".rstrip()
    if status >= 500:
        return errors.Unavailable("the object store failed", why=reason)
    return errors.Defect("the object store rejected the request", why=reason)


def error_without_response(timed_out: bool, subject: str) -> errors.TouchlineError:
    """The store did not respond: this says nothing about the data."""
    if timed_out:
        return errors.DeadlineExceeded("the object store did not answer in time", why=subject)
    return errors.Unavailable("the object store cannot be reached", why=subject)


def from_obstore(error: BaseError | FileNotFoundError, subject: str) -> errors.TouchlineError:
    """obstore has few error classes; the status and code of the response are in its text."""
    text = str(error)
    status = _STATUS.search(text)
    code = _CODE.search(text)
    if status:
        return error_from_response(int(status[1]), code[1] if code else "", subject)
    if isinstance(error, FileNotFoundError):
        return BY_STATUS[404](subject)
    if isinstance(error, AlreadyExistsError):
        return BY_STATUS[412](subject)
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return _refused(subject)
    return error_without_response("kind: Timeout" in text or "TimedOut" in text, subject)


def from_botocore(error: ClientError | BotoCoreError, subject: str) -> errors.TouchlineError:
    from botocore.exceptions import ClientError, ConnectTimeoutError, ParamValidationError, ReadTimeoutError

    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return error_from_response(status, error.response.get("Error", {}).get("Code", ""), subject)
    if isinstance(error, ParamValidationError):
        return errors.Defect("invalid request to the object store", why=subject)
    return error_without_response(isinstance(error, ConnectTimeoutError | ReadTimeoutError), subject)


_NO_OVERALL_LIMIT = timedelta(days=1)  # a long stream is fine; one that sends nothing hits the read timeout
_FIRST_BACKOFF = timedelta(milliseconds=100)
_LONGEST_BACKOFF = timedelta(seconds=2)
_making = Lock()


def make_data_client(endpoint: ObjectsEndpoint, settings: ObjectsSettings) -> S3Store:
    credential: S3Credential = {
        "access_key_id": endpoint.access_key,
        "secret_access_key": endpoint.secret_key,
        "token": None,
        "expires_at": None,
    }
    options: ClientConfig = {
        "allow_http": endpoint.url.startswith("http://"),
        "connect_timeout": settings.connect_timeout,
        "read_timeout": settings.request_timeout,
        "timeout": _NO_OVERALL_LIMIT,
    }
    if is_loopback(endpoint.url):
        # The only way to use no proxy here is to name one and exclude our host.
        options |= {"proxy_url": endpoint.url, "proxy_excludes": urlsplit(endpoint.url).hostname or ""}
    return S3Store(
        endpoint.bucket,
        endpoint=endpoint.url,
        region=endpoint.region,
        checksum_algorithm="SHA256",
        conditional_put="etag",
        # Each of these would be read from the environment if it were left out.
        aws_endpoint_url_s3=endpoint.url,
        s3_express=False,
        skip_signature=False,
        virtual_hosted_style_request=False,
        credential_provider=lambda: credential,
        client_options=options,
        retry_config={
            "max_retries": settings.retries,
            "retry_timeout": settings.request_timeout,
            "backoff": {"init_backoff": _FIRST_BACKOFF, "max_backoff": _LONGEST_BACKOFF, "base": 2},
        },
    )


def make_blocking_client(url: str, endpoint: ObjectsEndpoint, settings: ObjectsSettings) -> S3Client:
    """Slow the first time: it imports boto3."""
    getLogger("botocore").setLevel(WARNING)  # at lower levels it logs signatures, which grant access
    from botocore.config import Config

    config = Config(
        signature_version="s3v4",
        # The checksum that we send covers the bytes: hashing them once more to sign them would only cost time.
        s3={"addressing_style": "path", "payload_signing_enabled": False},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        connect_timeout=settings.connect_timeout.total_seconds(),
        read_timeout=settings.request_timeout.total_seconds(),
        retries={"total_max_attempts": settings.retries + 1, "mode": "standard"},
        max_pool_connections=settings.connections,
        proxies={} if is_loopback(url) else None,
    )
    with _making:
        return _session().client(  # pyright: ignore[reportUnknownMemberType]
            "s3",
            endpoint_url=url,
            region_name=endpoint.region,
            aws_access_key_id=endpoint.access_key,
            aws_secret_access_key=endpoint.secret_key,
            config=config,
        )


@cache
def _session() -> Session:
    """Shared, because it reads megabytes of service descriptions once; not safe for two threads at a time."""
    from boto3.session import Session
    from botocore.session import Session as BotocoreSession

    nothing = (None, None, os.devnull, None)
    no_profile = (None, None, None, None)
    return Session(
        botocore_session=BotocoreSession({"profile": no_profile, "config_file": nothing, "credentials_file": nothing})
    )


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


Answer = TypeVar("Answer")


class ThreadedS3:
    def __init__(self, endpoint: ObjectsEndpoint, settings: ObjectsSettings) -> None:
        self.bucket = endpoint.bucket
        self.region = endpoint.region
        self._endpoint = endpoint
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.connections, thread_name_prefix="objects")
        self._clients: dict[str, S3Client] = {}
        self._making = Lock()

    async def call(self, operation: Callable[[S3Client], Answer], subject: str) -> Answer:
        """Runs one operation on a thread; `subject` names in errors what it was about."""
        return await self._on_thread(self._endpoint.url, operation, subject)

    async def sign(self, operation: Callable[[S3Client], Answer], subject: str) -> Answer:
        """The same with the public address that browsers use, for signed URLs."""
        return await self._on_thread(self._settings.public_url or self._endpoint.url, operation, subject)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for client in self._clients.values():
            client.close()

    async def _on_thread(self, url: str, operation: Callable[[S3Client], Answer], subject: str) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, url, operation, subject)

    def _run(self, url: str, operation: Callable[[S3Client], Answer], subject: str) -> Answer:
        client = self._client(url)
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return operation(client)
        except (ClientError, BotoCoreError) as error:
            raise from_botocore(error, subject) from error

    def _client(self, url: str) -> S3Client:
        with self._making:
            if url not in self._clients:
                self._clients[url] = make_blocking_client(url, self._endpoint, self._settings)
            return self._clients[url]
