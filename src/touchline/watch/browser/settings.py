"""Settings of the browser role."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from touchline.contracts.settings import Duration, Field, Port, SecretStr, Section, WebAddress

SECOND = timedelta(seconds=1)


class BrowserSettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on. What it answers is not encrypted: keep it on this machine or in a network of yours."""

    port: Port = 0
    """The port to listen on; 0 chooses a free one."""

    token: SecretStr = SecretStr("")
    """What whoever lets it search must know, since it searches with your session. Without it: made from the
    installation's cluster secret."""

    network_url: WebAddress = "https://x.com"
    """The social network. No page of another origin is opened."""

    asset_hosts: tuple[str, ...] = ("abs.twimg.com", "api.x.com")
    """Other hosts from which its pages may load scripts and data."""

    query_filter: str = "filter:videos"
    """Added to every query that does not have it; empty adds nothing."""

    chromium: Path | None = None
    """The Chromium to use. Without it: this machine's, else the one that `playwright install chromium` fetched."""

    sandbox: bool = True
    """Keep Chromium's own sandbox. Root cannot: run the role as another user to have it."""

    headed: bool = False
    """Show the browser's window on this machine's display: some networks treat a browser without one differently."""

    user_agent: str = Field(default="", max_length=400, pattern=r"^[\x20-\x7e]*$")
    """What the browser calls itself; best what the browser says in which you signed in. Empty: what it says when it has
    a window, also when it has none."""

    session: Path | None = None
    """Where your session of the network is kept. Without it: `browser` in the data folder."""

    user: str = ""
    """Who signs in by the network's form, where it is a plain one. Cookies are the better way."""

    password: SecretStr = SecretStr("")
    """Of that user."""

    at_once: int = Field(default=2, ge=1, le=10)
    """How many searches run at once."""

    most_waiting: int = Field(default=20, ge=0, le=1000)
    """How many searches may wait for their turn; one more is refused at once."""

    searches_per_window: int = Field(default=45, ge=1)
    """How many searches may be made with your account in `search_window`; one more is refused until it has room."""

    search_window: Duration = Field(default=timedelta(minutes=15), ge=SECOND, le=timedelta(days=1))
    """Over which time `searches_per_window` counts, also across restarts."""

    idle: Duration = Field(default=timedelta(minutes=2), ge=timedelta(milliseconds=100))
    """How long the browser waits for another search before it ends."""

    start_time: Duration = Field(default=30 * SECOND, ge=SECOND)
    """How long the browser may take to start."""

    page_time: Duration = Field(default=20 * SECOND, ge=timedelta(milliseconds=100))
    """How long a page may take until it shows something, or something new."""

    search_time: Duration = Field(default=90 * SECOND, ge=SECOND)
    """How long a search may take, waiting for its turn not counted."""

    quiet: Duration = Field(default=SECOND, ge=timedelta(milliseconds=20))
    """How long nothing new must come at the end of a page before that counts as the end."""

    most_posts: int = Field(default=400, ge=20, le=10_000)
    """How many posts one search looks at."""
