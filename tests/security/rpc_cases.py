"""The cases of the internal RPC: every method of every service that `proto/` describes."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from touchline.contracts.rpc import v1
from touchline.kernel import Principal, TouchlineError
from touchline.platform.rpc.client import RpcClient, Stub

from .arguments import harmless, id_kind
from .leaves import Leaf, built, variations
from .matrix import Case, Ids

TIME = "google.protobuf.Timestamp"
MOMENT = "2026-03-31T11:00:00Z"  # before anything in these tests
SIMPLE: Mapping[int, Any] = {
    FieldDescriptor.CPPTYPE_INT32: 1,
    FieldDescriptor.CPPTYPE_INT64: 1000,
    FieldDescriptor.CPPTYPE_UINT32: 1,
    FieldDescriptor.CPPTYPE_UINT64: 1,
    FieldDescriptor.CPPTYPE_DOUBLE: 1.0,
    FieldDescriptor.CPPTYPE_FLOAT: 1.0,
    FieldDescriptor.CPPTYPE_BOOL: False,
    FieldDescriptor.CPPTYPE_ENUM: 0,
}


def services() -> list[ServiceDescriptor]:
    modules = [import_module(f"{v1.__name__}.{one.name}") for one in pkgutil.iter_modules(v1.__path__)]
    return [service for module in modules for service in module.DESCRIPTOR.services_by_name.values()]


def rpc_cases(found: list[ServiceDescriptor], client: RpcClient, caller: Principal) -> Iterator[Case]:
    for service in found:
        for method in service.methods:
            name = f"{service.name}.{method.name}"
            if method.client_streaming or method.server_streaming:
                yield Case(name, takes_ids=False, run=_cannot(name))
                continue
            for variation, leaves in variations(list(_leaves(method.input_type))):
                run = _Run(Stub(client, service), method, caller, leaves)
                yield Case(f"{name}{variation}", any(leaf.id_kind for leaf in leaves), run)


def _cannot(name: str) -> Any:
    async def run(ids: Ids) -> Any:
        raise AssertionError(f"{name} is a stream: teach the matrix, or say in WITHOUT_TENANT why there is no tenant")

    return run


class _Run:
    def __init__(self, stub: Stub, method: MethodDescriptor, caller: Principal, leaves: list[Leaf]) -> None:
        self._stub = stub
        self._method = method
        self._caller = caller
        self._leaves = leaves

    async def __call__(self, ids: Ids) -> Any:
        request = ParseDict(built(self._leaves, ids), GetMessageClass(self._method.input_type)())
        answer = GetMessageClass(self._method.output_type)
        try:
            return MessageToDict(await self._stub.call(self._method.name, request, answer, self._caller))
        except TouchlineError as error:
            return {"code": error.code, "what": error.what, "why": error.why, "hint": error.hint}


def _leaves(message: Descriptor, path: tuple[str, ...] = (), within: tuple[str, ...] | None = None) -> Iterator[Leaf]:
    for field in message.fields:
        here = (*path, field.name)
        if _is_map(field):
            harmless(message.name, field.name)
        elif field.message_type is not None and field.message_type.full_name != TIME:
            assert not field.is_repeated, f"{message.name}.{field.name}: teach the matrix to send several messages"
            outer = within or (here if field.has_presence and _is_marked_optional(field) else None)
            yield from _leaves(field.message_type, here, outer)
        else:
            wanted = id_kind(message.name, field.name)
            example = None if wanted else _example(message, field)
            yield Leaf(here, wanted, example, not _is_marked_optional(field), within, field.is_repeated)


def _example(message: Descriptor, field: FieldDescriptor) -> Any:
    if field.message_type is not None:
        return MOMENT
    return SIMPLE[field.cpp_type] if field.cpp_type in SIMPLE else harmless(message.name, field.name)


def _is_marked_optional(field: FieldDescriptor) -> bool:
    """`optional` in proto3 makes a group of one, for the field alone."""
    return field.containing_oneof is not None


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
