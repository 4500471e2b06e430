"""How the two S3 clients are made: obstore for bytes in a task, boto3 for the rest.

Neither reads a file or a variable of the person's own AWS set-up, and neither asks a proxy for this machine itself.
"""

from __future__ import annotations

import os
from datetime import timedelta
from functools import cache
from ipaddress import ip_address
from logging import WARNING, getLogger
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from obstore.store import S3Store

from touchline.platform.endpoints import ObjectsEndpoint

from .settings import ObjectsSettings

if TYPE_CHECKING:
    from boto3.session import Session
    from mypy_boto3_s3 import S3Client
    from obstore.store import ClientConfig, S3Credential

_NO_OVERALL_LIMIT = timedelta(days=1)  # a long stream is no failure; a silent one is, by the read time-out
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
        # The only way to say "no proxy" here is to name one and leave our host out.
        options |= {"proxy_url": endpoint.url, "proxy_excludes": urlsplit(endpoint.url).hostname or ""}
    return S3Store(
        endpoint.bucket,
        endpoint=endpoint.url,
        region=endpoint.region,
        checksum_algorithm="SHA256",
        conditional_put="etag",
        # Each of these would come from the environment if it were left out.
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
    getLogger("botocore").setLevel(WARNING)  # below that it writes signatures to the log, and so the right to use them
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
    """Shared, because it reads megabytes of descriptions of S3 once; not by two threads at a time."""
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
