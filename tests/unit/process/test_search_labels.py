"""What is known about a video, in whatever order the events come."""

from __future__ import annotations

from functools import reduce
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from touchline.process.search import model
from touchline.process.search.model import GoalShown, Label, TextPlace, VideoSubject

SAKA = GoalShown("Arsenal 1-0 Liverpool, B. Saka 23'", 4200, "Arsenal", "Liverpool", "B. Saka")
OWN = GoalShown("Arsenal 1-0 Liverpool, J. Gómez 23'", 4200, "Arsenal", "Liverpool", "J. Gómez")
LABELS = {
    Label("match", "arsena1 vs 11verp001"),
    Label("match", "4200"),
    Label("team", "arsena1"),
    Label("team", "11verp001"),
    Label("player", "j g0mez"),
}

Told = tuple[str, int]  # what, and its revision


def applied(subject: VideoSubject, event: Told) -> VideoSubject:
    what, revision = event
    if what == "dropped":
        return model.without_goal(subject)
    if what == "titled":
        return model.with_title(subject, f"Title {revision}", revision)
    return model.with_goal(subject, [SAKA, OWN][revision % 2], revision)


def folded(*events: Told) -> VideoSubject:
    return reduce(applied, events, VideoSubject())


@pytest.mark.parametrize("events", list(permutations([("titled", 1), ("titled", 4), ("labeled", 2), ("labeled", 3)])))
def test_a_goal_that_got_another_scorer_is_his_alone(events: tuple[Told, ...]) -> None:
    subject = folded(*events)
    assert model.labels_of(subject) == LABELS
    assert model.texts_of(subject) == {TextPlace.MATCH: OWN.title}


@pytest.mark.parametrize("events", list(permutations([("titled", 1), ("labeled", 1), ("labeled", 2), ("dropped", 3)])))
def test_what_was_annulled_or_merged_shows_no_goal_any_more(events: tuple[Told, ...]) -> None:
    subject = folded(*events)
    assert (model.labels_of(subject), model.texts_of(subject)) == (set(), {TextPlace.TITLE: "Title 1"})


events = st.lists(
    st.tuples(st.sampled_from(["titled", "labeled", "labeled", "dropped"]), st.integers(1, 6)), max_size=8
)


@given(events, st.randoms())
def test_order_and_repetition_change_nothing(happened: list[Told], random: object) -> None:
    mixed = [*happened, *happened[:3]]
    random.shuffle(mixed)  # pyright: ignore[reportAttributeAccessIssue]
    assert folded(*mixed) == folded(*happened)


def test_without_a_scorer_or_a_title_there_is_nothing_to_find_it_by() -> None:
    unknown = GoalShown("", 7, "!!!", "", None)
    assert model.labels_of(model.with_goal(VideoSubject(), unknown, 1)) == {Label("match", "vs"), Label("match", "7")}
    assert model.texts_of(VideoSubject()) == {}
