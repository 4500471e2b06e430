"""The blocking S3 client behind a bounded pool of threads.

Invariant: the loop never waits for it, nor for its import; it is made on first use, in one of those threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from touchline.platform.endpoints import ObjectsEndpoint

from .clients import make_blocking_client
from .errors import from_botocore
from .settings import ObjectsSettings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Answer = TypeVar("Answer")


class S3:
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
        """The same with the address that browsers use, for links."""
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
