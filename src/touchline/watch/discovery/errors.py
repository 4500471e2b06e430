"""What else can go wrong with a search.

Unavailable
└── LoginExpired            the network wants to know who we are: only a person can help
"""

from __future__ import annotations

from touchline.kernel.errors import RateLimited, Unavailable


class LoginExpired(Unavailable):
    retryable = False
    next_step = "Sign in again with the session of your own browser; `touchline status` shows the login."


class LeftAlone(RateLimited):
    retryable = False
    next_step = "Search less often: raise `watch.search_interval`, or have fewer words in `aliases.words`."
