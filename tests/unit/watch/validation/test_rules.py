from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import Unavailable
from touchline.watch.model import FeedMinute, GoalMinutes
from touchline.watch.validation import rules
from touchline.watch.validation.rules import ClockStanding, Opinion, Sight
from touchline.watch.validation.service import read_sight

RIGHT, WRONG, RESTARTED, NONE = "62:58", "31:04", "17:04", None


def opinion(football: bool = True, screen: bool = False, clock: str | None = None, engine: str = "local") -> Opinion:
    return Opinion(engine, 0, Sight(football, screen, clock))


def minutes(text: str, *others: str) -> GoalMinutes:
    """`90+3`, as the feed has it."""
    goal, *rest = (FeedMinute(*map(int, each.split("+"))) for each in (text, *others))
    return GoalMinutes(goal, tuple(rest))


VERIFIED, UNVERIFIED, DOUBTFUL, REJECTED = ClockStanding


@pytest.mark.parametrize(
    ("clock", "goal", "standing"),
    [
        ("62:58", "63", VERIFIED),
        ("61:58", "63", VERIFIED),
        ("63:58", "63", VERIFIED),
        ("64:00", "63", REJECTED),
        ("60:59", "63", REJECTED),
        ("45:00 +1:13", "45+2", VERIFIED),
        ("45+2", "45+2", VERIFIED),
        ("90'+4'", "90+4", VERIFIED),
        ("HT", "47", UNVERIFIED),
        ("who knows", "47", UNVERIFIED),
        (None, "47", UNVERIFIED),
        # A clock that stands still, and stoppage time that runs.
        ("90:00 +4 02:17", "90+3", VERIFIED),
        ("90:00 +4 02:17", "93", VERIFIED),
        ("90:00 +4 02:17", "90+6", REJECTED),
        ("90:00 +4 02:17", "94", VERIFIED),
        ("45:00 +2 02:17", "45+3", VERIFIED),
        ("45:00 +2 02:17", "48", UNVERIFIED),  # not in the second half, if the feed is right
        ("45:00 +2 02:17", "90+3", DOUBTFUL),  # a second half may have begun at zero, without a mark
        ("45:00 +2 02:17", "90+8", REJECTED),
        ("1H 45:00 +2 02:17", "90+3", REJECTED),
        ("2H 45:00 +2 02:17", "45+3", REJECTED),
        ("45:00", "90+4", DOUBTFUL),
        ("45:00 +4", "90+4", DOUBTFUL),
        ("45+2:30", "45+3", VERIFIED),
        ("90:00 +4:00", "90+5", VERIFIED),
        ("90:00 +4:00", "90+2", UNVERIFIED),  # it may be what was announced
        ("90:00 +4:00", "62", REJECTED),
        ("90:00 21:47", "90+3", UNVERIFIED),  # the time of day stands beside it
        ("21:47 62:58", "63", UNVERIFIED),
        ("62:58 21:47", "63", VERIFIED),
        ("62:58 21:47", "40", REJECTED),
        ("ET 90:00 +4 02:17", "90+3", VERIFIED),
        # A clock that stands still alone: somewhere in stoppage time.
        ("90:00", "90+6", UNVERIFIED),
        ("90:00", "90", VERIFIED),
        ("90:00", "90+1", VERIFIED),
        ("90:00", "62", REJECTED),
        ("90:00 +4", "90+2", UNVERIFIED),
        ("90:00 +4", "90+4", UNVERIFIED),
        ("90:00 +4", "62", REJECTED),
        ("45:00", "46", UNVERIFIED),
        ("45:00", "45+4", UNVERIFIED),
        ("90'", "90+6", UNVERIFIED),
        # Stoppage time alone.
        ("02:36 +8", "90+3", VERIFIED),
        ("02:36 +8", "45+3", VERIFIED),
        ("02:36 +8", "93", VERIFIED),
        ("02:36 +8", "3", UNVERIFIED),
        ("02:36 +8", "90+7", REJECTED),
        ("02:36 +8", "62", REJECTED),
        ("+02:36", "90+3", VERIFIED),
        ("02:36", "3", VERIFIED),
        ("02:36", "90+3", UNVERIFIED),
        ("02:36", "62", REJECTED),
        # Announced beside a clock that runs on.
        ("46:30 +4", "45+2", VERIFIED),
        ("46:30 +4", "47", UNVERIFIED),
        # Extra time.
        ("AET 04:04", "95", VERIFIED),
        ("AET 04:04", "110", VERIFIED),
        ("AET 04:04", "5", REJECTED),
        ("AET 04:04", "90+5", UNVERIFIED),
        ("AET 04:04", "105+5", UNVERIFIED),
        ("105:00|(+1)|00:01", "105+1", VERIFIED),
        ("105:00|(+1)|00:01", "105+4", REJECTED),  # the bar is no one: 100:01 counts no stoppage time
        ("04:04", "95", UNVERIFIED),  # it may be stoppage time alone
        ("19:04", "105+5", DOUBTFUL),
        ("19:04", "105+8", REJECTED),
        ("ET 97:12", "98", VERIFIED),
        # Halves.
        ("2H 02:12", "48", VERIFIED),
        ("2H 02:12", "45+3", UNVERIFIED),
        ("18:12", "19", VERIFIED),
        ("18:12", "64", DOUBTFUL),  # the second half may have begun at zero, without a mark
        ("19:12", "64", DOUBTFUL),
        ("20:12", "64", REJECTED),
        ("16:12", "64", REJECTED),
        ("1H 18:12", "64", REJECTED),
        ("47:12", "48", VERIFIED),
        ("47:12", "90+3", DOUBTFUL),
        ("62:58", "108", REJECTED),
        ("2H 47:12", "90+3", UNVERIFIED),
        ("4 minutes", "90+3", UNVERIFIED),
    ],
)
def test_standing(clock: str | None, goal: str, standing: ClockStanding) -> None:
    assert rules.standing(clock, minutes(goal), 1) is standing


@pytest.mark.parametrize(
    ("clock", "goal", "other", "standing"),
    [
        ("02:36 +8", "90+3", "45+3", UNVERIFIED),
        ("02:36 +8", "90+3", "45+7", VERIFIED),
        ("02:36", "3", "90+3", UNVERIFIED),
        ("AET 04:04", "110", "95", UNVERIFIED),
        ("AET 04:04", "110", "96", UNVERIFIED),
        ("AET 04:04", "110", "104", VERIFIED),
        ("90:00", "90+1", "90+6", UNVERIFIED),
        ("47:30", "48", "45+3", UNVERIFIED),
        ("18:12", "19", "64", VERIFIED),  # a video of a later goal is posted later
        ("18:12", "64", "19", DOUBTFUL),
        ("62:58", "63", "63", VERIFIED),
        ("62:58", "63", "64", VERIFIED),
        ("62:58", "63", "17", VERIFIED),
    ],
)
def test_a_clock_that_may_be_of_another_goal_of_the_match(
    clock: str, goal: str, other: str, standing: ClockStanding
) -> None:
    assert rules.standing(clock, minutes(goal, other), 1) is standing


@pytest.mark.parametrize(
    ("case", "opinions", "asks_again"),
    [
        ("of one mind", [opinion(), opinion()], False),
        ("football or not", [opinion(), opinion(football=False)], True),
        ("a screen or not", [opinion(), opinion(screen=True)], True),
        ("one clock is enough", [opinion(clock=RIGHT), opinion()], False),
        ("two minutes", [opinion(clock=RIGHT), opinion(clock=WRONG)], True),
        ("another minute, seen once", [opinion(), opinion(clock=WRONG)], True),
        ("another minute, seen twice", [opinion(clock=WRONG), opinion(clock="31:12")], False),
        ("a clock that may have restarted", [opinion(clock=RESTARTED), opinion()], False),
        ("the same beside the right one", [opinion(clock=RIGHT), opinion(clock=RESTARTED)], True),
        ("the same beside a wrong one", [opinion(clock=RESTARTED), opinion(clock=WRONG)], True),
    ],
)
def test_disagree(case: str, opinions: list[Opinion], asks_again: bool) -> None:
    assert rules.disagree(opinions, minutes("63"), 1) is asks_again, case


@pytest.mark.parametrize(
    ("case", "opinions", "verified", "rejected"),
    [
        ("verified", [opinion(clock=RIGHT), opinion()], True, None),
        ("without a clock", [opinion(), opinion()], False, None),
        ("another minute", [opinion(clock=WRONG), opinion(clock=WRONG)], False, "another_minute: 31:04, not 62"),
        ("misread once", [opinion(clock=RIGHT), opinion(clock="82:58"), opinion(clock=RIGHT)], True, None),
        ("even readings tell nothing", [opinion(clock=RIGHT), opinion(clock=WRONG), opinion()], False, None),
        ("it may have restarted", [opinion(clock=RESTARTED), opinion(clock="17:12")], False, None),
        ("that verifies nothing", [opinion(clock=RIGHT), opinion(clock=RESTARTED), opinion()], False, None),
        (
            "and excuses nothing",
            [opinion(clock=WRONG), opinion(clock=WRONG), opinion(clock=RESTARTED)],
            False,
            "another_minute: 31:04, not 62",
        ),
        ("two right, one doubtful", [opinion(clock=RIGHT), opinion(clock=RESTARTED), opinion(clock=RIGHT)], True, None),
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
    verdict = rules.decide(opinions, minutes("63"), 1)
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


OPINIONS = st.builds(opinion, st.booleans(), st.booleans(), st.sampled_from([RIGHT, WRONG, RESTARTED, NONE, "HT", "?"]))


@given(st.lists(OPINIONS, min_size=1, max_size=6))
def test_only_what_was_read_is_verified_and_only_what_stays_is(opinions: list[Opinion]) -> None:
    verdict = rules.decide(opinions, minutes("63"), 1)
    assert not (verdict.verified and verdict.rejected)
    if verdict.verified:
        assert verdict.clock == RIGHT
    if verdict.rejected and verdict.rejected.startswith("another_minute"):
        assert verdict.clock == WRONG
    assert sum(len(said) for said in verdict.engines.values()) == len(opinions)


@pytest.mark.parametrize(
    ("said", "sight"),
    [
        ({"football": True, "filmed_screen": False, "clock": "62:58"}, Sight(True, False, "62:58")),
        ({"football": "TRUE", "filmed_screen": "no", "clock": '"62:58"'}, Sight(True, False, "62:58")),
        ({"football": 1, "filmed_screen": 0, "clock": None}, Sight(True, False, None)),
        ({"football": True, "filmed_screen": False, "clock": "None"}, Sight(True, False, None)),
        ({"football": True, "filmed_screen": False, "clock": 62}, Sight(True, False, "62")),
        ({"football": True, "filmed_screen": False, "clock": "67'"}, Sight(True, False, "67'")),
        ({"football": True, "filmed_screen": False, "clock": "'62:58'"}, Sight(True, False, "62:58")),
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
