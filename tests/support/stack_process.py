"""Runs the stack that it reads from standard input. Errors go to standard error, with their code first."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from touchline.kernel import TouchlineError
from touchline.platform.endpoints import ClickHouseEndpoint, ObjectsEndpoint, PostgresEndpoint, TemporalEndpoint
from touchline.platform.settings import StackSettings
from touchline.platform.stack.folder import DataFolder
from touchline.platform.stack.part import StackRole
from touchline.platform.stack.stack import OutsideEndpoints, Stack, run_stack

ENDPOINTS = {
    "postgres": PostgresEndpoint,
    "objects": ObjectsEndpoint,
    "temporal": TemporalEndpoint,
    "clickhouse": ClickHouseEndpoint,
}


def read_stack(document: dict[str, Any]) -> Stack:
    outside = {name: ENDPOINTS[name](**given) for name, given in document["outside"].items() if given}
    roles = [StackRole(**{**role, "needs": tuple(role["needs"])}) for role in document["roles"]]
    return Stack(
        folder=DataFolder(Path(document["root"])),
        settings=StackSettings.model_validate(document["settings"]),
        outside=OutsideEndpoints(**outside),
        roles=lambda endpoints: roles,
        only=frozenset(document["only"]),
    )


def main() -> int:
    try:
        asyncio.run(run_stack(read_stack(json.load(sys.stdin))))
    except TouchlineError as error:
        sys.stderr.write(f"{error.code}: {error}\n{error.hint}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
