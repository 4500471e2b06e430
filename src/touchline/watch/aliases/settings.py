"""Settings of the words for teams, and of the model that aliases and validation ask."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, SecretStr, Section, WebAddress


class AliasSettings(Section):
    wikidata_url: WebAddress = "https://www.wikidata.org"
    """The URL of Wikidata. Empty: Wikidata is not used."""

    wikidata_timeout: Duration = Field(default=timedelta(seconds=5), ge=timedelta(seconds=1), le=timedelta(seconds=30))
    """The timeout of one request to Wikidata."""

    contact: str = "self-hosted"
    """A contact address that is sent with each request to Wikidata, as its user-agent policy asks."""

    words: int = Field(default=5, ge=1, le=10)
    """The maximum number of words for a team; each can be a search of its own."""

    rules_expire: Duration = Field(default=timedelta(hours=6), ge=timedelta(minutes=1))
    """How long fallback words are used that were made by rules because Wikidata, the model or the feed was
    unavailable."""


# Settings of the model that aliases and validation ask.


class ModelSettings(Section):
    url: WebAddress = ""
    """The URL of an OpenAI-compatible model server, with its version, like http://127.0.0.1:8080/v1. Empty: no
    model."""

    key: SecretStr = SecretStr("")
    """The API key of the model server, if it needs one."""

    name: str = "default"
    """The name of the model on that server."""

    timeout: Duration = Field(default=timedelta(seconds=25), ge=timedelta(seconds=1), le=timedelta(seconds=80))
    """The timeout of one request."""
