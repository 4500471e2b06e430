"""What the engine is told when it starts: memory, pools, and what the one user of all statements may do.

Invariant: a limit that protects this machine is a constraint, so that no statement can lift it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from .limits import MIB, OwnerLimits
from .queries import GRANTS

_SMALL_CACHE = 32 * MIB
_CACHES = (
    "mark_cache_size",
    "primary_index_cache_size",
    "index_mark_cache_size",
    "query_condition_cache_size",
    "parquet_metadata_cache_size",
    "iceberg_metadata_files_cache_size",
    "vector_similarity_index_cache_size",
    "text_index_tokens_cache_size",
    "text_index_header_cache_size",
    "text_index_postings_cache_size",
)
_POOL_THREADS = 4
_PRESSED = 8  # a statement takes fewer threads when less than such a part of the memory is free for each of them
_POOLS = (
    "background_schedule_pool_size",
    "max_thread_pool_free_size",
    "max_io_thread_pool_size",
    "max_parts_cleaning_thread_pool_size",
    "max_active_parts_loading_thread_pool_size",
    "max_outdated_parts_loading_thread_pool_size",
    "max_unexpected_parts_loading_thread_pool_size",
    "max_format_parsing_thread_pool_size",
    "max_prefixes_deserialization_thread_pool_size",
    "database_catalog_drop_table_concurrency",
)

# Their values name files, addresses or another language, or open what is closed: nobody changes them.
_FIXED = {
    "allow_python_table_function": "0",
    "allow_introspection_functions": "0",
    "allow_experimental_eval_table_function": "0",
    "allow_experimental_ai_functions": "0",
    "dialect": "clickhouse",
    "implicit_select": "0",
    "format_schema": "",
    "format_schema_source": "file",
    "format_template_row": "",
    "format_template_resultset": "",
    "format_avro_schema_registry_url": "",
    "input_format_record_errors_file_path": "",
}
_FIXED_TABLE_SETTINGS = ("merge_tree_disk", "merge_tree_storage_policy")

# Defaults that a request may change: no machine code for few rows, and an acknowledged insert is in its table.
_DEFAULTS = {
    "async_insert": "0",
    "compile_expressions": "0",
    "compile_aggregate_expressions": "0",
    "compile_sort_description": "0",
    "result_overflow_mode": "throw",
    "timeout_overflow_mode": "throw",
}


def write_configuration(folder: Path, limits: OwnerLimits) -> Path:
    """Two files, written anew at every start; the path of `config.xml`, which names the other."""
    users = folder / "users.xml"
    users.write_bytes(tostring(_users(limits)))
    server = folder / "config.xml"
    server.write_bytes(tostring(_server(limits, users)))
    return server


def _server(limits: OwnerLimits, users: Path) -> Element:
    root = Element("clickhouse")
    values: dict[str, object] = {
        "users_config": users,
        "max_server_memory_usage": limits.memory_bytes,
        "merges_mutations_memory_usage_soft_limit": limits.memory_bytes // 2,
        "background_pool_size": 2,
        "background_common_pool_size": 2,
        "max_thread_pool_size": 64 + limits.concurrent_statements * (limits.threads + 4),
        "uncompressed_cache_size": 0,
        **dict.fromkeys(_CACHES, _SMALL_CACHE),
        **dict.fromkeys(_POOLS, _POOL_THREADS),
    }
    _add_all(root, values)
    # An insert is acknowledged once, and its source then moves on: it must outlive a power cut.
    _add_all(SubElement(root, "merge_tree"), {"fsync_after_insert": 1, "fsync_part_directory": 1})
    return root


def _users(limits: OwnerLimits) -> Element:
    bounded = {
        "max_memory_usage": limits.statement_memory_bytes,
        "max_threads": limits.threads,
        "max_execution_time": limits.longest_statement_s,
        "max_result_bytes": limits.result_bytes,
        "max_query_size": limits.statement_bytes,
    }
    root = Element("clickhouse")
    profile = SubElement(SubElement(root, "profiles"), "default")
    # The engine's own threshold, a gibibyte of free memory for every thread, is more than it gets: one thread for all.
    pressed = {"max_threads_min_free_memory_per_thread": limits.memory_bytes // _PRESSED}
    _add_all(profile, {**_DEFAULTS, **_FIXED, **bounded, **pressed})
    constraints = SubElement(profile, "constraints")
    for name, most in bounded.items():
        _add_all(SubElement(constraints, name), {"min": 1, "max": most})  # zero would mean: no limit
    for name in (*_FIXED, *_FIXED_TABLE_SETTINGS):
        SubElement(SubElement(constraints, name), "readonly")
    _add_user(root, GRANTS)
    return root


def _add_user(root: Element, grants: Iterable[str]) -> None:
    user = SubElement(SubElement(root, "users"), "default")
    _add_all(user, {"password": "", "profile": "default", "quota": "default"})
    _add_all(SubElement(user, "networks"), {"ip": "::/0"})  # nobody connects to it: there is no socket
    rights = SubElement(user, "grants")
    for grant in grants:
        SubElement(rights, "query").text = grant
    SubElement(SubElement(root, "quotas"), "default")


def _add_all(parent: Element, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        SubElement(parent, name).text = str(value)
