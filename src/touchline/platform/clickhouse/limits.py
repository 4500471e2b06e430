"""How much the owner lets anybody use. Every limit is a plain integer, so that it can travel as an argument."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024**2


@dataclass(frozen=True, slots=True)
class OwnerLimits:
    memory_bytes: int = 768 * MIB  # of all statements and merges together; the idle process comes on top
    statement_memory_bytes: int = 512 * MIB
    threads: int = 2
    concurrent_statements: int = 8
    queue_wait_ms: int = 5_000
    longest_statement_s: int = 60
    statement_bytes: int = 1 * MIB  # the text alone
    insert_bytes: int = 256 * MIB  # after decompression
    result_bytes: int = 128 * MIB
    stop_grace_s: int = 2
