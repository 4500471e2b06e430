"""Settings of the object store."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, SecretStr, Section, WebAddress


class ObjectsSettings(Section):
    url: WebAddress = ""
    """The address of an S3 service, like https://s3.example.org; empty starts the embedded one."""

    public_url: WebAddress = ""
    """The address of the same service for browsers, if it differs: signed URLs use it."""

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
    """How long the service may send nothing during a request."""

    retries: int = Field(default=3, ge=0, le=10)
    """How many times a request without a response is sent again."""

    connections: int = Field(default=8, ge=1, le=64)
    """The most requests that one process runs in threads at once: whole files, parts, listings."""

    presign_lifetime: Duration = timedelta(minutes=15)
    """How long a signed URL is valid by default."""

    single_put_limit: ByteSize = Field(default=ByteSize(5 * 1024**3), ge=5 * 1024**2)
    """Larger files are uploaded in parts. S3 accepts 5 GiB in one request; SeaweedFS has no limit."""

    browser_origins: tuple[str, ...] = ("*",)
    """Which web pages may use signed URLs (CORS). The signature grants access, so any page may by default."""
