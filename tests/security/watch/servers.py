"""Servers that do as they like: each answers with the bytes that it was given, and counts who came and what it sent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)
PKCS8 = PrivateFormat.PKCS8
Bodies = Callable[[], AsyncIterable[bytes]]


@dataclass
class Server:
    port: int = 0
    visits: int = 0
    sent: int = 0

    def url(self, path: str = "/v.mp4", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


def answering(*parts: bytes) -> Bodies:
    async def body() -> AsyncIterable[bytes]:
        for part in parts:
            yield part

    return body


def redirecting(location: str) -> Bodies:
    return answering(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())


def forever(head: bytes, part: bytes, pause_s: float = 0.0) -> Bodies:
    async def body() -> AsyncIterable[bytes]:
        yield head
        while True:
            yield part
            await asyncio.sleep(pause_s)

    return body


@asynccontextmanager
async def serving(
    bodies: Bodies, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[Server]:
    """Until the end of the block; whoever still talks then is cut off."""
    server, talks = Server(), set[asyncio.Task[None]]()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.visits += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                async for part in bodies():
                    writer.write(part)
                    await writer.drain()
                    server.sent += len(part)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.create_task(talk(reader, writer)))

    listener = await asyncio.start_server(begin, host, port, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        await asyncio.sleep(0)  # the turn in which the sockets are closed


def self_signed(folder: Path, name: str) -> ssl.SSLContext:
    """Of a server that nobody vouches for."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), now, now + DAY)
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    certificate = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    path = folder / "server.pem"
    path.write_bytes(certificate.public_bytes(Encoding.PEM) + key.private_bytes(Encoding.PEM, PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
