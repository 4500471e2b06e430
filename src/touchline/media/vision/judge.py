"""What a picture shows: football or something else, a broadcast or a screen that somebody filmed.

Cues that a person could name, weighed by small decision trees, which are a file of this package, made by
`scripts/train_frame_engine.py`. Invariant: the same picture gets the same verdict; nothing is fetched.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from .areas import Pixels, scaled_to
from .field_cues import WIDTH, field_cues
from .screen_cues import screen_cues

WEIGHTS = "frame_trees.json"
DEPTH = 3
QUESTIONS = ("football", "filmed_screen")


def cues_of(picture: Pixels) -> dict[str, float]:
    return {**field_cues(picture), **screen_cues(picture, scaled_to(picture, WIDTH))}


@dataclass(frozen=True, slots=True)
class DecisionTrees:
    """Small trees that vote, for one question. Each asks three times; a row for each tree, in the order of a heap."""

    cues: Pixels  # the number of the cue that is asked about
    limits: Pixels  # above goes right
    votes: Pixels  # at the end of each way
    start: float

    def probability(self, rows: Pixels) -> Pixels:
        """Of each row of cues."""
        score = np.full(len(rows), self.start)
        for cues, limits, votes in zip(self.cues, self.limits, self.votes, strict=True):
            node = np.zeros(len(rows), np.int64)
            for _ in range(DEPTH):
                right = rows[np.arange(len(rows)), cues[node]] > limits[node]
                node = 2 * node + 1 + right
            score += votes[node - len(limits)]
        return 1 / (1 + np.exp(-score))

    def document(self) -> dict[str, Any]:
        limits, votes = self.limits.round(5).tolist(), self.votes.round(5).tolist()
        return {"cues": self.cues.tolist(), "limits": limits, "votes": votes, "start": round(self.start, 5)}

    @classmethod
    def of(cls, document: dict[str, Any]) -> DecisionTrees:
        cues, limits, votes = (np.array(document[name]) for name in ("cues", "limits", "votes"))
        return cls(cues, limits, votes, float(document["start"]))


@dataclass(frozen=True, slots=True)
class FrameClassifier:
    cues: tuple[str, ...]
    trees: dict[str, DecisionTrees]

    @classmethod
    def load(cls) -> FrameClassifier:
        document = json.loads(files(__package__ or "").joinpath(WEIGHTS).read_text("utf-8"))
        trees = {question: DecisionTrees.of(document[question]) for question in QUESTIONS}
        return cls(tuple(document["cues"]), trees)

    def verdict(self, picture: Pixels) -> tuple[float, float]:
        """The probabilities of football, and of a filmed screen."""
        found = cues_of(picture)
        row = np.array([[found[name] for name in self.cues]])
        football, filmed = (float(self.trees[question].probability(row)[0]) for question in QUESTIONS)
        return football, filmed
