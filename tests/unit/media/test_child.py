"""What the child imports: it starts for every video, and nothing that it does not need may make it slower."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest
from av import error as codecs

from touchline.media.child.failures import Refused, explain
from touchline.media.model import Failure

HEAVY = ("pydantic", "numpy", "asyncio", "touchline.kernel", "touchline.platform", "touchline.contracts")


@pytest.mark.parametrize("task", ["probe", "hls", "poster", "walls"])
def test_a_child_imports_only_what_it_needs(task: str) -> None:
    program = f"import sys, touchline.media.child.duty, touchline.media.child.{task}; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(answer.stdout.split())
    assert modules.isdisjoint(HEAVY)
    assert ("av" in modules) is (task != "walls")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (Refused(Failure.TRUNCATED, "cut"), Failure.TRUNCATED),
        (MemoryError(), Failure.LIMIT),
        (OSError(errno.ENOMEM, "no memory"), Failure.LIMIT),
        (OSError(errno.EFBIG, "too big"), Failure.LIMIT),
        (OSError(errno.ENOSPC, "full"), Failure.STORAGE),
        (OSError(errno.EDQUOT, "full"), Failure.STORAGE),
        (KeyError("ours"), Failure.DEFECT),
    ],
)
def test_whose_fault_an_error_is(error: Exception, failure: Failure) -> None:
    try:
        raise error
    except type(error) as raised:
        found, why = explain(raised)
    assert found is failure
    assert 0 < len(why) <= 500


def test_what_the_codecs_raise_is_the_inputs_fault() -> None:
    assert explain(codecs.InvalidDataError(1, "invalid"))[0] is Failure.DAMAGED
    assert explain(codecs.ArgumentError(errno.EINVAL, "argument"))[0] is Failure.DAMAGED
    assert explain(codecs.DecoderNotFoundError(1, "no decoder"))[0] is Failure.UNSUPPORTED
    assert explain(codecs.PatchWelcomeError(1, "not yet"))[0] is Failure.UNSUPPORTED
    assert explain(codecs.MemoryError(errno.ENOMEM, "memory"))[0] is Failure.LIMIT
