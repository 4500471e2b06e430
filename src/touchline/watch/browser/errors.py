"""What can go wrong with a search, as errors.

Unavailable
├── LoginNeeded             the network wants to know who we are; a person must help
├── BrowserGone             the browser ended in the middle of a search
├── NetworkFailed           the network answers with an error
└── DeadlineExceeded
    └── SearchTimedOut
RateLimited
├── TooManySearches         more wait than may
└── NetworkLimited          the network has had enough of us
Misconfigured
└── ChromiumMissing         there is no browser that can be started
"""

from __future__ import annotations

from touchline.kernel.errors import DeadlineExceeded, Misconfigured, RateLimited, Unavailable


class LoginNeeded(Unavailable):
    next_step = (
        "Sign in to the network in your own browser, export its cookies to a file, "
        "and run `touchline watch login --cookies FILE`."
    )


class BrowserGone(Unavailable):
    next_step = "Search again: the next search starts a new browser."


class NetworkFailed(Unavailable):
    next_step = "Search again in a while; open the network in a browser to see whether it works."


class SearchTimedOut(DeadlineExceeded):
    next_step = "Search again; if it always happens, raise `browser.page_time` and `browser.search_time`."


class TooManySearches(RateLimited):
    next_step = "Search again in a while, or raise `browser.at_once`."


class NetworkLimited(RateLimited):
    next_step = "Search less often, or wait until the network allows it again."


class ChromiumMissing(Misconfigured):
    next_step = (
        "Install it (on Debian and Ubuntu: apt-get install chromium; else `playwright install chromium`), "
        "or name it by `browser.chromium`."
    )
