"""Settings of the browser role."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from touchline.contracts.settings import Duration, Field, Port, SecretStr, Section, WebAddress

SECOND = timedelta(seconds=1)


class BrowserSettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on. Responses are not encrypted: use this machine or a private network."""

    port: Port = 0
    """The port to listen on; 0 chooses a free one."""

    token: SecretStr = SecretStr("")
    """The token that clients of this role must send, since it searches with your session. Default: derived from the
    cluster secret of the installation."""

    network_url: WebAddress = "https://x.com"
    """The URL of the social network. Pages of other origins are not opened."""

    asset_hosts: tuple[str, ...] = ("abs.twimg.com", "api.x.com")
    """Other hosts from which its pages may load scripts and data."""

    query_filter: str = "filter:videos"
    """A filter that is added to every query that does not have it. Empty: none."""

    chromium: Path | None = None
    """The path of Chromium. Default: the one of this machine, else the one that `playwright install chromium`
    downloaded."""

    sandbox: bool = True
    """Use Chromium's own sandbox. It does not work as root: run the role as another user."""

    headed: bool = False
    """Run the browser with a visible window. Some networks treat headless browsers differently."""

    user_agent: str = Field(default="", max_length=400, pattern=r"^[\x20-\x7e]*$")
    """The user agent of the browser, best the one of the browser in which you signed in. Empty: the user agent of a
    Chromium with a window, also when it is headless."""

    session: Path | None = None
    """The folder with your session of the network. Default: `browser` in the data folder."""

    user: str = ""
    """The user to sign in with, if the network has a simple form. Importing cookies is more reliable."""

    password: SecretStr = SecretStr("")
    """The password of that user."""

    at_once: int = Field(default=2, ge=1, le=10)
    """How many searches run at the same time."""

    most_waiting: int = Field(default=20, ge=0, le=1000)
    """How many searches may wait in the queue; further ones are refused."""

    searches_per_window: int = Field(default=45, ge=1)
    """How many searches may be made with your account in `search_window`; further ones are refused."""

    search_window: Duration = Field(default=timedelta(minutes=15), ge=SECOND, le=timedelta(days=1))
    """The period for `searches_per_window`. It continues across restarts."""

    idle: Duration = Field(default=timedelta(minutes=2), ge=timedelta(milliseconds=100))
    """How long the browser stays idle before it ends."""

    start_time: Duration = Field(default=30 * SECOND, ge=SECOND)
    """How long the browser may take to start."""

    page_time: Duration = Field(default=20 * SECOND, ge=timedelta(milliseconds=100))
    """How long a page may take to show posts, or more posts."""

    search_time: Duration = Field(default=90 * SECOND, ge=SECOND)
    """How long a search may take, without its time in the queue."""

    quiet: Duration = Field(default=SECOND, ge=timedelta(milliseconds=20))
    """How long the end of a page must show nothing new before the search stops."""

    most_posts: int = Field(default=400, ge=20, le=10_000)
    """How many posts one search reads."""
