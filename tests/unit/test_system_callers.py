"""Who crosses the wall between tenants, and why. A new caller is a decision: it is added here, in review."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "touchline"

ALLOWED = {
    "gateway/auth/service.py": {
        "administer tenants",
        "find suspended tenants",
        "find the owner of an object",
        "make the first operator",
    },
    "gateway/auth/sessions/service.py": {"remove ended sessions"},
    "measure/facts/service.py": {"find deliveries to fold"},
    "measure/ingest/service.py": {"find deliveries that were interrupted"},
    "platform/events/consumer.py": {
        "consume events",
        "decide on an event that was set aside",
        "find a consumer's cursor",
        "retry an event that was set aside",
        "set an event aside",
    },
    "platform/events/log.py": {
        "forget archived events",
        "give events their positions",
        "read archived events",
        "read old events",
        "read the event log",
    },
    "platform/events/store.py": {"show events that were set aside", "show the event log's state"},
    "platform/periodic/runner.py": {
        "claim a periodic task",
        "finish a periodic pass",
        "record a failed periodic pass",
        "register periodic tasks",
        "look at the quota of a periodic task",
        "take from the quota of a periodic task",
    },
    "platform/periodic/store.py": {"show periodic tasks"},
    "process/purge/service.py": {
        "compare videos with the object store",
        "find videos to purge",
        "forget the history of finished jobs",
        "purge a video",
    },
    "process/queue/alerts.py": {
        "find alerts that were not sent to the webhook",
        "record which alerts were sent to the webhook",
        "watch the job queue",
    },
    "process/queue/queries.py": {
        "list jobs of all tenants",
        "show a job and its history",
        "show the job queue's state",
    },
    "process/transcode/worker.py": {"find fixed keys that nobody wrote"},
    "serve/dvr/service.py": {"find recordings that go on"},
    "serve/fsck/service.py": {"compare artifacts with the object store", "find the owners of open uploads"},
    "serve/nodes/service.py": {"count the copies of a node", "find commands for a node"},
    "serve/recordings/service.py": {"find live streams to record"},
    "serve/registry/role.py": {"find registered artifacts that do not exist"},
    "serve/retention/service.py": {
        "count purges that an error holds up",
        "find artifacts of whose processing nobody reports",
        "find artifacts that are over their time",
        "find artifacts to purge",
        "find records that are to be forgotten",
    },
    "serve/storage/queries.py": {"show the storage of all tenants"},
    "serve/scanner/service.py": {
        "count missing originals",
        "find artifacts of objects",
        "find artifacts whose original should be there",
        "sample artifacts whose files should be there",
    },
    "serve/streams/sessions.py": {"find live streams whose node is silent", "find the live streams of a node"},
    "serve/tiers/passes.py": {
        "find commands that are overdue",
        "find copies of deleted artifacts",
        "find copies to evict",
        "find the copies of a node that is gone",
    },
    "serve/tiers/reports.py": {
        "compare the inventory of a node",
        "find the command that a node acknowledges",
        "find the command that a node works on",
    },
    "serve/uploads/worker.py": {"find the owners of open uploads", "find uploads that are due"},
    "watch/views/service.py": {"observe watched goals"},
}


def test_every_system_transaction_is_known_and_says_why() -> None:
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for reason in reasons(ast.parse(path.read_text())):
            found.setdefault(str(path.relative_to(SOURCE)), set()).add(reason)
    assert found == ALLOWED


def test_a_reason_that_is_not_written_out_is_noticed() -> None:
    tree = ast.parse("async with database.system(reason): pass\nasync with database.system('why'): pass")
    assert list(reasons(tree)) == ["<computed>", "why"]


def reasons(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="system"), args=[ast.Constant(value=str(reason))]):
                yield reason
            case ast.Call(func=ast.Attribute(attr="system")):
                yield "<computed>"
