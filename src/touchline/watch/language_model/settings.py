"""Settings of the model that aliases and validation ask."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, SecretStr, Section, WebAddress


class ModelSettings(Section):
    url: WebAddress = ""
    """Where an OpenAI-compatible model answers, with its version, like http://127.0.0.1:8080/v1. Empty: none."""

    key: SecretStr = SecretStr("")
    """The key that the model's server asks for, if it does."""

    name: str = "default"
    """Which model of that server is asked."""

    timeout: Duration = Field(default=timedelta(seconds=25), ge=timedelta(seconds=1), le=timedelta(seconds=80))
    """How long one answer may take."""
