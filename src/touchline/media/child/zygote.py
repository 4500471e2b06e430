"""The process that children are forked from, the monitor of each, and the life of a child.

The zygote imports once, and never sees a byte of what a stranger wrote. Invariant: it has one thread and keeps no
descriptor but its line to the parent, so that nothing is carried over from one child to the next. When the line ends,
so does it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pkgutil
import resource
import select
import signal
import socket
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Never, TypeAlias

from touchline.platform.stack.parent_death_guard import die_with

from . import system
from .channel import Channel, explain
from .order import LONGEST_ORDER, PAUSE, ChildLimits, TaskOrder

# How a child isolates itself before it reads the first byte of what a stranger wrote.

OPEN_FILES = 64
GRACE_S = 5
OUT_OF_TIME = int(signal.SIGXCPU)  # also the code that a child exits with then


def isolate(order: TaskOrder, supervisor_id: int) -> None:
    """The limits first: another user could not set them all. The death signal last: it does not survive the change."""
    _limit(order.limits)
    if order.user_id is not None:
        os.setgroups([])
        os.setresgid(order.user_id, order.user_id, order.user_id)
        os.setresuid(order.user_id, order.user_id, order.user_id)
    system.drop_capabilities()
    die_with(supervisor_id, signal.SIGKILL)


def _limit(limits: ChildLimits) -> None:
    # The first process of a namespace is deaf to signals that it has no handler for; the hard limit is for a child that
    # was taken over, and handles this one in another way.
    system.exit_on_signal(OUT_OF_TIME)
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + GRACE_S))
    _lower(resource.RLIMIT_AS, limits.memory_bytes)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)
    if limits.processes is not None:
        _lower(resource.RLIMIT_NPROC, limits.processes)


def _lower(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    lowest = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (lowest, lowest))


# What a child does: a function of its options that may speak meanwhile, and ends with a dataclass.

Function: TypeAlias = Callable[[dict[str, Any], Channel], Any]


# The life of a child: confine itself, say that it started, do the one task, answer, end. Invariant: exactly one
# answer, the last line; without one the parent knows that the child crashed.

FAILED = 1


def child_main(order: TaskOrder, channel: int, function: Function, supervisor_id: int) -> Never:
    try:
        _stand_apart()
        os.dup2(2, 1)  # whatever a library prints
        system.name_process(f"media-{order.task}")
        if order.background:
            system.work_in_background()
        isolate(order, supervisor_id)
        _work(order, Channel(channel), function)
    except BaseException:
        traceback.print_exc()
        os._exit(FAILED)
    os._exit(0)


def _stand_apart() -> None:
    """In a session of its own; one that stands back stays in the zygote's, which does too: some systems share the
    processors out by sessions."""
    if os.nice(0) > 0:
        os.setpgid(0, 0)
    else:
        os.setsid()


def _work(order: TaskOrder, channel: Channel, function: Function) -> None:
    channel.started()
    try:
        result = function(order.options, channel)
    except Exception as error:
        channel.failure(*explain(error))
    else:
        channel.result(asdict(result))


# The process between the zygote and one child: it isolates the child, stops and continues it, and ends it.
# Invariant: when the parent hangs up, by intention or by its own death, the child and all that it started are killed.
# The exit code comes from here and not from the child, who could lie.

NOT_STARTED = 125
LONGEST_WORDS = 64


@dataclass(frozen=True, slots=True)
class ChildDescriptors:
    """The descriptors of one child."""

    leash: int  # to the parent; the monitor's alone
    channel: int
    errors: int
    source: int

    def close(self) -> None:
        for descriptor in (self.leash, self.channel, self.errors, self.source):
            os.close(descriptor)


def supervise_child(order: TaskOrder, belongings: ChildDescriptors, function: Function) -> Never:
    code = NOT_STARTED
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(belongings.source, 0)  # where the zygote's line was
        os.dup2(belongings.errors, 2)
        os.close(belongings.errors)
        code = _kept(order, belongings, function)
    except BaseException:
        traceback.print_exc()
    with suppress(BrokenPipeError):
        os.write(belongings.leash, str(code).encode())
    os._exit(0)


def _kept(order: TaskOrder, belongings: ChildDescriptors, function: Function) -> int:
    if order.namespaces:
        system.leave_namespaces()
    supervisor_id = 0 if order.namespaces else os.getpid()  # no parent is seen from inside of a namespace
    child_id = os.fork()
    if child_id == 0:
        os.close(belongings.leash)
        os.close(belongings.source)  # it is the standard input
        child_main(order, belongings.channel, function, supervisor_id)
    os.close(belongings.channel)
    _watch(child_id, belongings.leash)
    return _ended(child_id)


def _watch(child_id: int, leash: int) -> None:
    """Until it has ended, or the parent hangs up. From outside of its namespace its first process can be stopped."""
    ending = os.pidfd_open(child_id)
    while ending not in select.select([ending, leash], [], [])[0]:
        words = os.read(leash, LONGEST_WORDS)
        if not words:
            return
        os.kill(child_id, signal.SIGSTOP if words.endswith(PAUSE) else signal.SIGCONT)


def _ended(child_id: int) -> int:
    """As long as nobody waited, its id is its own: what it left in its group can be killed by it."""
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):  # of its group nothing may be left but itself, dead
            kill(child_id, signal.SIGKILL)
    _, status = os.waitpid(child_id, 0)
    code = os.waitstatus_to_exitcode(status)
    return -code if code == OUT_OF_TIME else code


# How a child of many threads gets along with the address space that it may have.

MIB = 1024**2
# The names of mallopt, in glibc's malloc.h.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
USE = {ARENA_MAX: 4, TRIM_THRESHOLD: 64 * MIB, MMAP_THRESHOLD: 32 * MIB}
STACK_BYTES = 2 * MIB
ATTRIBUTES_BYTES = 64  # of a thread, in glibc; others keep what they have


def share_memory() -> None:
    """By default each thread reserves 64 MiB for itself and 8 MiB for its stack, which leaves no room for pictures; and
    what a segment was put together in goes back to the system each time, to be cleared for the next one."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        for name, value in USE.items():
            library.mallopt(name, value)
    if hasattr(library, "pthread_setattr_default_np"):
        attributes = ctypes.create_string_buffer(ATTRIBUTES_BYTES)
        library.pthread_attr_init(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK_BYTES))
        library.pthread_setattr_default_np(attributes)
        library.pthread_attr_destroy(attributes)


LINE = 0  # its standard input
READY = b"ready"
DESCRIPTORS = 4
COLLECTED_EVERY = 50_000  # new objects: packets are many, and no two of them refer to each other


def serve(tasks: Mapping[str, str]) -> None:
    """`tasks` says where each is, as `module:function`."""
    functions: dict[str, Function] = {name: pkgutil.resolve_name(place) for name, place in tasks.items()}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the monitors
    share_memory()
    gc.freeze()
    gc.set_threshold(COLLECTED_EVERY)
    with socket.socket(fileno=LINE) as line:
        line.send(READY)
        while request := socket.recv_fds(line, LONGEST_ORDER, DESCRIPTORS):
            message, descriptors, *_ = request
            if not message:
                return
            order, belongings = TaskOrder.decode(message), ChildDescriptors(*descriptors)
            if os.fork() == 0:
                supervise_child(order, belongings, functions[order.task])
            belongings.close()
