"""What can go wrong with a search, as errors.

Unavailable
├── LoginNeeded             the network wants to know who we are; a person must help
├── BrowserGone             the browser ended in the middle of a search
├── NetworkFailed           the network answers with an error
└── DeadlineExceeded
    └── SearchTimedOut
RateLimited
├── TooManySearches         more wait than may
├── SearchBudgetSpent       the account has searched as often as the settings allow
└── NetworkLimited          the network limits the account's searches
Misconfigured
├── ChromiumMissing         there is no browser that can be started
└── DisplayMissing          a window is wanted, and there is no display for it
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


class SearchBudgetSpent(RateLimited):
    next_step = "Wait, or raise `browser.searches_per_window` if the network allows your account more."


class NetworkLimited(RateLimited):
    next_step = "Wait until the limit is over; lower `browser.searches_per_window` if it happens often."


class ChromiumMissing(Misconfigured):
    next_step = (
        "Install it (on Debian and Ubuntu: apt-get install chromium; else `playwright install chromium`), "
        "or name it by `browser.chromium`."
    )


class DisplayMissing(Misconfigured):
    next_step = "Start the role where DISPLAY or WAYLAND_DISPLAY is set, as `xvfb-run` does, or unset `browser.headed`."
