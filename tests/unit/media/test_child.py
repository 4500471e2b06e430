"""What the zygote imports, and whose fault an error is."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest
from av import error as codecs

from touchline.media.child.channel import InputRefused, explain
from touchline.media.model import MediaFailure

LATE = ("av.audio.stream", "av.subtitles.stream", "av.video.stream")  # PyAV's own imports, inside of functions
HEAVY = ("pydantic", "asyncio", "touchline.contracts")


def test_the_zygote_imports_all_tasks_and_little_else() -> None:
    """What it holds, every child holds."""
    program = (
        "import sys, pkgutil, touchline.media.child.zygote; from touchline.media.child.__main__ import TASKS;"
        "[pkgutil.resolve_name(place) for place in TASKS.values()]; print(*sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(answer.stdout.split())
    assert modules.isdisjoint(HEAVY)
    assert "av" in modules
    assert modules.issuperset(LATE), "a child may not be able to read the files of modules that it imports later"


def test_the_engine_imports_before_it_changes_its_user() -> None:
    program = "import sys, touchline.media.vision.server; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"numpy.fft", "numpy.ma"} <= set(answer.stdout.split())


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (InputRefused(MediaFailure.TRUNCATED, "cut"), MediaFailure.TRUNCATED),
        (MemoryError(), MediaFailure.LIMIT),
        (OSError(errno.ENOMEM, "no memory"), MediaFailure.LIMIT),
        (OSError(errno.EFBIG, "too big"), MediaFailure.LIMIT),
        (OSError(errno.ENOSPC, "full"), MediaFailure.STORAGE),
        (OSError(errno.EDQUOT, "full"), MediaFailure.STORAGE),
        (KeyError("ours"), MediaFailure.DEFECT),
    ],
)
def test_whose_fault_an_error_is(error: Exception, failure: MediaFailure) -> None:
    try:
        raise error
    except type(error) as raised:
        found, why = explain(raised)
    assert found is failure
    assert 0 < len(why) <= 500


def test_what_the_codecs_raise_is_the_inputs_fault() -> None:
    assert explain(codecs.InvalidDataError(1, "invalid"))[0] is MediaFailure.DAMAGED
    assert explain(codecs.ArgumentError(errno.EINVAL, "argument"))[0] is MediaFailure.DAMAGED
    assert explain(codecs.DecoderNotFoundError(1, "no decoder"))[0] is MediaFailure.UNSUPPORTED
    assert explain(codecs.PatchWelcomeError(1, "not yet"))[0] is MediaFailure.UNSUPPORTED
    assert explain(codecs.MemoryError(errno.ENOMEM, "memory"))[0] is MediaFailure.LIMIT


def test_threads_share_the_address_space() -> None:
    """A hundred of them, as a machine of many cores has, beside what the library reserves by itself."""
    program = """
import sys, threading
from pathlib import Path
from touchline.media.child.zygote import share_memory
share_memory()
reserved = lambda: int(Path("/proc/self/statm").read_text().split()[0]) * 4096
before, over = reserved(), threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(100)]
for thread in threads: thread.start()
print(reserved() - before)
over.set()
"""
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert int(answer.stdout) < 100 * 2.1 * 1024**2 + 4 * 64 * 1024**2
