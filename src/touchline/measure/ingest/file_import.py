"""Files as deliveries. The same file gives the same deliveries under the same names, so an import that was cut off
goes on when it is started again, and one that was finished changes nothing.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, TypeVar

from touchline.kernel import InvalidInput, NotFound, StorageFull, TenantId, is_storage_full
from touchline.measure.ingest.rules import RecordCounts
from touchline.platform.retry import retry_transient

from .records import MAGIC, split_file
from .rules import Delivery
from .service import IngestService

# They are part of the names: with others, a file that was imported before would be imported once more.
SCHEME = 1
RECORDS = 5000
BYTES = 8 * 1024 * 1024
RETRY_LIMIT = timedelta(minutes=5)
FIRST_DELAY = timedelta(milliseconds=200)
LONGEST_DELAY = timedelta(seconds=3.2)
_COPY = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportedFile:
    file: str
    batches: int
    repeated: int  # of them, those that were stored before
    counted: RecordCounts


Report = Callable[[str], None]
Result = TypeVar("Result")


async def import_file(ingest: IngestService, tenant_id: TenantId, path: Path, report: Report) -> ImportedFile:
    """Delivery by delivery, each kept before the next. Parts that are away are waited for, a while."""
    with ExitStack() as stack:
        prefix, file, size = await asyncio.to_thread(_opened, path, stack)
        known = await _retry(lambda: ingest.known(tenant_id, prefix), report)
        batches = repeated = records = 0
        for delivery in deliveries(prefix, split_file(file, size)):
            if delivery.batch_id in known:
                repeated += 1
            else:
                await _retry(lambda one=delivery: ingest.take(tenant_id, one), report)
            batches, records = batches + 1, records + len(delivery.records)
            report(f"{path}: {records} records")
        counted = await _retry(lambda: ingest.count(tenant_id, prefix), report)
        return ImportedFile(str(path), batches, repeated, counted)


def deliveries(prefix: str, records: Iterable[bytes]) -> Iterator[Delivery]:
    """Of so many records or bytes; each is named by the number of its first record."""
    some: list[bytes] = []
    first = size = 0
    for record in records:
        if some and (len(some) == RECORDS or size + len(record) > BYTES):
            yield Delivery(f"{prefix}{first:012}", "file", some)
            first, some, size = first + len(some), [], 0
        some.append(record)
        size += len(record)
    if some:
        yield Delivery(f"{prefix}{first:012}", "file", some)


def _opened(path: Path, stack: ExitStack) -> tuple[str, IO[bytes], int]:
    """What its deliveries' names begin with, and the file as it is read: unpacked when it is packed."""
    try:
        file: IO[bytes] = stack.enter_context(path.open("rb"))
        prefix = f"file/{SCHEME}/{file_digest(file, 'sha256').hexdigest()}/"
        file.seek(0)
        packed = file.read(len(MAGIC)) == MAGIC
        file.seek(0)
        file = _unpacked(path, file, stack) if packed else file
    except OSError as error:
        if is_storage_full(error):  # of the file that it is unpacked into
            raise StorageFull(f"{path} cannot be unpacked", why=f"{gettempdir()} has no space left") from error
        hint = "Check the name, and who may read it."
        raise NotFound(f"{path} cannot be read", why=error.strerror or str(error), hint=hint) from error
    size = file.seek(0, 2)
    file.seek(0)
    return prefix, file, size


def _unpacked(path: Path, file: IO[bytes], stack: ExitStack) -> IO[bytes]:
    plain = stack.enter_context(TemporaryFile())  # noqa: SIM115  the stack closes it
    try:
        with gzip.open(file) as packed:
            while piece := packed.read(_COPY):
                plain.write(piece)
        plain.flush()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInput(
            f"the compressed file {path} is damaged", why=str(error), hint="Download or export it again."
        ) from error
    return plain


async def _retry(work: Callable[[], Awaitable[Result]], report: Report) -> Result:
    """Retries transient errors until the time limit."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + RETRY_LIMIT.total_seconds()
    return await retry_transient(
        work,
        FIRST_DELAY,
        on_failure=lambda error: report(f"waiting: {error}"),
        may_continue=lambda: loop.time() <= deadline,
        longest_delay=LONGEST_DELAY,
    )
