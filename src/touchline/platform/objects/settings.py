"""Settings of the object store."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, SecretStr, Section, WebAddress


class ObjectsSettings(Section):
    url: WebAddress = ""
    """Where an S3 service answers, like https://s3.example.org; empty starts the embedded one."""

    public_url: WebAddress = ""
    """The same service as browsers reach it, if that differs: signed links name this address."""

    bucket: str = Field(default="touchline", pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    """The one bucket that holds everything."""

    region: str = "us-east-1"
    """The region that requests are signed for."""

    access_key: str = ""
    """The id of the access key. Needed with `url`."""

    secret_key: SecretStr = SecretStr("")
    """The secret of the access key. Needed with `url`."""

    connect_timeout: Duration = timedelta(seconds=5)
    """How long to wait for a connection."""

    request_timeout: Duration = timedelta(seconds=30)
    """How long the service may stay silent in the middle of a request."""

    retries: int = Field(default=3, ge=0, le=10)
    """How often a request that got no answer is sent again."""

    connections: int = Field(default=8, ge=1, le=64)
    """The most requests of one process that wait on threads: whole files, parts, listings."""

    presign_lifetime: Duration = timedelta(minutes=15)
    """How long a signed link is valid when nobody asks for another time."""

    single_put_limit: ByteSize = Field(default=ByteSize(5 * 1024**3), ge=5 * 1024**2)
    """Larger files go up in parts. S3 takes 5 GiB in one request; SeaweedFS has no limit."""

    browser_origins: tuple[str, ...] = ("*",)
    """Which web pages may use signed links. The signature is the right, so any page may by default."""
