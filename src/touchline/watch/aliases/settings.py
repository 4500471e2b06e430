"""Settings of the words for teams, and of the model that aliases and validation ask."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, SecretStr, Section, WebAddress


class AliasSettings(Section):
    wikidata_url: WebAddress = "https://www.wikidata.org"
    """Where Wikidata answers. Empty: it is not asked."""

    wikidata_timeout: Duration = Field(default=timedelta(seconds=5), ge=timedelta(seconds=1), le=timedelta(seconds=30))
    """How long one answer of Wikidata may take."""

    contact: str = "self-hosted"
    """How Wikidata's people reach you when your questions trouble them: an address of yours, sent with each one."""

    words: int = Field(default=5, ge=1, le=10)
    """How many words a team gets at most; each is a search of its own."""

    rules_expire: Duration = Field(default=timedelta(hours=6), ge=timedelta(minutes=1))
    """How long words are used that rules made because Wikidata, the model or the feed did not answer."""


# Settings of the model that aliases and validation ask.


class ModelSettings(Section):
    url: WebAddress = ""
    """Where an OpenAI-compatible model answers, with its version, like http://127.0.0.1:8080/v1. Empty: none."""

    key: SecretStr = SecretStr("")
    """The key that the model's server asks for, if it does."""

    name: str = "default"
    """Which model of that server is asked."""

    timeout: Duration = Field(default=timedelta(seconds=25), ge=timedelta(seconds=1), le=timedelta(seconds=80))
    """How long one answer may take."""
