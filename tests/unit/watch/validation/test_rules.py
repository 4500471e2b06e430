from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.kernel.errors import Unavailable
from touchline.media.engines.model import Box, TextRegion
from touchline.watch.validation import rules
from touchline.watch.validation.bug import clock_among
from touchline.watch.validation.engines import read_sight
from touchline.watch.validation.model import Opinion, Sight, Standing

RIGHT, WRONG, NONE = "62:58", "17:04", None


def opinion(football: bool = True, screen: bool = False, clock: str | None = None, engine: str = "local") -> Opinion:
    return Opinion(engine, 0, Sight(football, screen, clock))


@pytest.mark.parametrize(
    ("clock", "expected", "standing"),
    [
        ("62:58", 62, Standing.VERIFIED),
        ("61:58", 62, Standing.VERIFIED),
        ("63:58", 62, Standing.VERIFIED),
        ("64:00", 62, Standing.REJECTED),
        ("60:59", 62, Standing.REJECTED),
        ("45:00 +1:13", 46, Standing.VERIFIED),  # 45+2 in the feed
        ("45+2", 46, Standing.VERIFIED),
        ("90'+4'", 93, Standing.VERIFIED),
        ("HT", 46, Standing.UNVERIFIED),
        ("who knows", 46, Standing.UNVERIFIED),
        (None, 46, Standing.UNVERIFIED),
    ],
)
def test_standing(clock: str | None, expected: int, standing: Standing) -> None:
    assert rules.standing(clock, expected, 1) is standing


@pytest.mark.parametrize(
    ("case", "opinions", "asks_again"),
    [
        ("of one mind", [opinion(), opinion()], False),
        ("football or not", [opinion(), opinion(football=False)], True),
        ("a screen or not", [opinion(), opinion(screen=True)], True),
        ("one clock is enough", [opinion(clock=RIGHT), opinion()], False),
        ("two minutes", [opinion(clock=RIGHT), opinion(clock=WRONG)], True),
        ("another minute, seen once", [opinion(), opinion(clock=WRONG)], True),
        ("another minute, seen twice", [opinion(clock=WRONG), opinion(clock="17:12")], False),
    ],
)
def test_disagree(case: str, opinions: list[Opinion], asks_again: bool) -> None:
    assert rules.disagree(opinions, 62, 1) is asks_again, case


@pytest.mark.parametrize(
    ("case", "opinions", "verified", "rejected"),
    [
        ("verified", [opinion(clock=RIGHT), opinion()], True, None),
        ("without a clock", [opinion(), opinion()], False, None),
        ("another minute", [opinion(clock=WRONG), opinion(clock=WRONG)], False, "another_minute: 17:04, not 62"),
        ("misread once", [opinion(clock=RIGHT), opinion(clock="82:58"), opinion(clock=RIGHT)], True, None),
        ("even readings tell nothing", [opinion(clock=RIGHT), opinion(clock=WRONG), opinion()], False, None),
        ("two of three", [opinion(False), opinion(), opinion(clock=RIGHT)], True, None),
        ("one of three", [opinion(False), opinion(), opinion(False, clock=RIGHT)], False, "not_football"),
        ("filmed", [opinion(screen=True, clock=RIGHT), opinion(screen=True)], False, "filmed_screen"),
        (
            "even votes: the model's count",
            [opinion(False), opinion(False), opinion(engine="model"), opinion(engine="model")],
            False,
            None,
        ),
    ],
)
def test_decide(case: str, opinions: list[Opinion], verified: bool, rejected: str | None) -> None:
    verdict = rules.decide(opinions, 62, 1)
    assert (verdict.verified, verdict.rejected) == (verified, rejected), case


VOTES = st.lists(st.tuples(st.sampled_from(["model", "local"]), st.booleans()), min_size=1, max_size=7)


@given(VOTES, st.booleans())
def test_majorities(votes: list[tuple[str, bool]], if_even: bool) -> None:
    said = [vote for _, vote in votes]
    decided = rules.majority(votes, if_even=if_even)
    if said.count(decided) < said.count(not decided):
        pytest.fail("fewer voted for it")
    turned = rules.majority([(engine, not vote) for engine, vote in votes], if_even=not if_even)
    assert turned is not decided
    assert rules.majority(votes[::-1], if_even=if_even) is decided


OPINIONS = st.builds(opinion, st.booleans(), st.booleans(), st.sampled_from([RIGHT, WRONG, NONE, "HT", "?"]))


@given(st.lists(OPINIONS, min_size=1, max_size=6))
def test_only_what_was_read_is_verified_and_only_what_stays_is(opinions: list[Opinion]) -> None:
    verdict = rules.decide(opinions, 62, 1)
    assert not (verdict.verified and verdict.rejected)
    if verdict.verified:
        assert verdict.clock == RIGHT
    if verdict.rejected and verdict.rejected.startswith("another_minute"):
        assert verdict.clock == WRONG
    assert sum(len(said) for said in verdict.engines.values()) == len(opinions)


def region(text: str, x: int = 60, y: int = 40, confidence: float = 0.9) -> TextRegion:
    return TextRegion(text, Box(x, y, 12 * len(text), 20), confidence, None, 0)


@pytest.mark.parametrize(
    ("case", "regions", "clock"),
    [
        ("none", [region("NOR"), region("1-0")], None),
        ("beside the score", [region("NOR"), region("1-0", x=110), region("62:58", x=160)], "62:58"),
        ("on one line", [region("62:58 NOR 1-0 VAZ")], "62:58"),
        ("the surest", [region("62:58"), region("02:58", confidence=0.6)], "62:58"),
        ("not legible", [region("62:58", confidence=0.3)], None),
        ("stoppage time beside it", [region("45:00"), region("+1:12", x=140)], "45:00 +1:12"),
        ("stoppage time below it", [region("45:00"), region("1:12", y=70)], "45:00 +1:12"),
        ("another time far away", [region("45:00"), region("1:12", x=900, y=600)], "45:00"),
        ("a caption", [region("Sørensen 63'"), region("62:58", y=10)], "62:58"),
        ("the minute alone", [region("63'")], "63'"),
    ],
)
def test_clock_among(case: str, regions: list[TextRegion], clock: str | None) -> None:
    read = clock_among(regions)
    assert (read.text if read else None) == clock, case


@pytest.mark.parametrize(
    ("said", "sight"),
    [
        ({"football": True, "filmed_screen": False, "clock": "62:58"}, Sight(True, False, "62:58")),
        ({"football": "TRUE", "filmed_screen": "no", "clock": '"62:58"'}, Sight(True, False, "62:58")),
        ({"football": 1, "filmed_screen": 0, "clock": None}, Sight(True, False, None)),
        ({"football": True, "filmed_screen": False, "clock": "None"}, Sight(True, False, None)),
        ({"football": True, "filmed_screen": False, "clock": 62}, Sight(True, False, "62")),
    ],
)
def test_what_a_model_says(said: object, sight: Sight) -> None:
    assert read_sight(said) == sight


@pytest.mark.parametrize(
    "said", [None, [], "yes", {}, {"football": True}, {"football": "perhaps", "filmed_screen": True}]
)
def test_an_answer_that_says_nothing_is_no_no(said: object) -> None:
    with pytest.raises(Unavailable):
        read_sight(said)
