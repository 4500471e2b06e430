from __future__ import annotations

import pytest

from touchline.kernel import Conflict
from touchline.media.rules import Cut, CutMethod
from touchline.process.clips.rules import ClipStage, cut_metadata, parse_cut

CUT = Cut(40, 4000, 99, CutMethod.EDGES, 320, 180, has_sound=True)


def test_what_is_written_beside_a_clip_comes_back() -> None:
    written = cut_metadata(CUT)
    assert parse_cut(written | {"writer": "somebody"}) == CUT
    assert all(value.isascii() for value in written.values()), "a store takes nothing else"


@pytest.mark.parametrize("written", [{}, {"cut": ""}, {"cut": "[]"}, {"cut": "{}"}, {"cut": '{"method": "dreamt"}'}])
def test_what_somebody_else_wrote_is_no_clip(written: dict[str, str]) -> None:
    with pytest.raises(Conflict):
        parse_cut(written)


def test_progress_goes_forward_over_the_stages() -> None:
    percents = [stage.percent(share) for stage in ClipStage for share in (-1.0, 0.0, 0.5, 1.0, 2.0)]
    assert percents == sorted(percents)
    assert (percents[0], percents[-1]) == (0, 99)
