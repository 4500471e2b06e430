"""What else can go wrong with a model.

    Unavailable
    └── InvalidAnswer           it said something that nobody can read: as good as nothing

Invariant: neither of them ever means "no".
"""

from __future__ import annotations

from touchline.kernel.errors import Unavailable


class InvalidAnswer(Unavailable):
    next_step = "Choose a model that keeps to a JSON schema, in the section `model` of the settings."
