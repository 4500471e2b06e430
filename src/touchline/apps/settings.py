"""All settings of the product: the sections that modules declare, composed, loaded and explained.

A value comes from its default, the TOML file or the environment; the later wins.
Invariant: wrong settings are refused with their source, all of them at once, and no secret is repeated.
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import AfterValidator, ByteSize, ValidationError
from pydantic.fields import FieldInfo

from touchline.contracts.settings import Field, SecretStr, Section
from touchline.gateway.settings import AuthSettings, GatewaySettings, GraphqlSettings, MediaLinkSettings
from touchline.kernel import Misconfigured, format_duration
from touchline.measure.settings import AnalyticsSettings, IngestSettings, SessionSettings
from touchline.media.settings import MediaSettings
from touchline.platform.settings import (
    ArtifactsSettings,
    ClickHouseSettings,
    EventSettings,
    LifecycleSettings,
    ObjectsSettings,
    PeriodicSettings,
    PostgresSettings,
    RegistrySettings,
    RpcSettings,
    StackSettings,
    TemporalSettings,
)
from touchline.process.settings import AlertSettings, ProcessSettings, WorkerSettings
from touchline.serve.agent.settings import NodeSettings
from touchline.serve.ingest.settings import PublishSettings
from touchline.serve.live.settings import LiveSettings
from touchline.serve.settings import ServeSettings
from touchline.watch.settings import (
    AliasSettings,
    BrowserSettings,
    DiscoverySettings,
    DownloadSettings,
    FeedSettings,
    FixtureSettings,
    ModelSettings,
    ValidationSettings,
    WatchSettings,
)

from .logging import LogSettings
from .redaction import MASK, redact

# Where settings are written down: the environment and one TOML file. Reads raw values, judges only their names.
#
# Invariant: a name that no section declares is a problem with its source and the nearest name that exists.

PREFIX = "TOUCHLINE_"
FILE_VARIABLE = "TOUCHLINE_CONFIG"
# Read by the command line and by the tests, whose children inherit them.
NOT_SETTINGS = (FILE_VARIABLE, "TOUCHLINE_DEBUG", "TOUCHLINE_CHAOS")


class Origin(StrEnum):
    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Source:
    origin: Origin = Origin.DEFAULT
    place: str = ""  # the file's path or the variable's name

    def __str__(self) -> str:
        return f"{self.origin} {self.place}".rstrip()


@dataclass(frozen=True, slots=True)
class Given:
    value: Any = dataclasses.field(repr=False)
    source: Source


@dataclass(frozen=True, slots=True)
class Found:
    """What one source holds, by dotted name, and what is wrong with it."""

    given: Mapping[str, Given]
    problems: tuple[str, ...] = ()


def variable(name: str) -> str:
    return PREFIX + name.replace(".", "_").upper()


def from_environment(environment: Mapping[str, str], names: Iterable[str]) -> Found:
    """An empty variable counts as not set: that is how compose files pass on what nobody gave."""
    known = {variable(name): name for name in names}
    given: dict[str, Given] = {}
    problems: list[str] = []
    for key in sorted(environment):
        if not key.startswith(PREFIX) or key.startswith(NOT_SETTINGS) or not environment[key]:
            continue
        if key in known:
            given[known[key]] = Given(environment[key], Source(Origin.ENVIRONMENT, key))
        else:
            problems.append(f"{key} (environment): there is no such setting{_nearest(key, known)}")
    return Found(given, tuple(problems))


def from_file(path: Path, names: Iterable[str], *, optional: bool = False) -> Found:
    known = set(names)
    sections = {name.partition(".")[0] for name in known if "." in name}
    source = Source(Origin.FILE, str(path))
    given: dict[str, Given] = {}
    problems: list[str] = []
    for name, value in _flattened(_read(path, optional), sections):
        if name in known:
            given[name] = Given(value, source)
        else:
            candidates = known if "." in name else known | sections
            problems.append(f"{name} ({source}): there is no such setting{_nearest(name, candidates)}")
    return Found(given, tuple(problems))


def _read(path: Path, optional: bool) -> dict[str, Any]:
    """Only a file that does not exist may be missing: one that cannot be read may hold what matters."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        if optional and isinstance(error, FileNotFoundError):
            return {}
        raise Misconfigured(f"cannot read {path}", why=error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "Correct the file at the line and column above."
        raise Misconfigured(f"{path} is not TOML", why=str(error), hint=hint) from error


def _flattened(table: Mapping[str, Any], sections: Container[str]) -> Iterable[tuple[str, Any]]:
    """Dotted names. A table that no section knows stays one name, so that it is one problem and not many."""
    for name, value in table.items():
        if name in sections and isinstance(value, Mapping):
            section = cast("Mapping[str, Any]", value)
            yield from ((f"{name}.{key}", inner) for key, inner in section.items())
        else:
            yield name, value


def _nearest(name: str, known: Iterable[str]) -> str:
    """Compared without the prefix: what all names share would make strangers alike."""
    candidates = {one.removeprefix(PREFIX): one for one in sorted(known)}
    close = get_close_matches(name.removeprefix(PREFIX), candidates, n=1)
    return f"; did you mean {candidates[close[0]]}?" if close else ""


FILE_NAME = "touchline.toml"
OPEN_TO_ALL = 0o006


def default_data_folder(environment: Mapping[str, str]) -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/touchline")
    return Path(environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "touchline"


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


class Settings(Section):
    data: Annotated[Path, AfterValidator(_absolute)] = Field(
        default_factory=lambda: default_data_folder(os.environ),
        description="The data folder. Default: /var/lib/touchline for root, else touchline in the XDG data home.",
    )
    cluster_secret: SecretStr = SecretStr("")
    """The secret that all processes of one installation share. Default: created in the data folder."""

    log: LogSettings = LogSettings()
    stack: StackSettings = StackSettings()
    postgres: PostgresSettings = PostgresSettings()
    objects: ObjectsSettings = ObjectsSettings()
    temporal: TemporalSettings = TemporalSettings()
    clickhouse: ClickHouseSettings = ClickHouseSettings()
    events: EventSettings = EventSettings()
    periodic: PeriodicSettings = PeriodicSettings()
    gateway: GatewaySettings = GatewaySettings()
    auth: AuthSettings = AuthSettings()
    media: MediaSettings = MediaSettings()
    process: ProcessSettings = ProcessSettings()
    worker: WorkerSettings = WorkerSettings()
    alerts: AlertSettings = AlertSettings()
    serve: ServeSettings = ServeSettings()
    node: NodeSettings = NodeSettings()
    live: LiveSettings = LiveSettings()
    publish: PublishSettings = PublishSettings()
    watch: WatchSettings = WatchSettings()
    feed: FeedSettings = FeedSettings()
    fixtures: FixtureSettings = FixtureSettings()
    aliases: AliasSettings = AliasSettings()
    model: ModelSettings = ModelSettings()
    discovery: DiscoverySettings = DiscoverySettings()
    browser: BrowserSettings = BrowserSettings()
    validation: ValidationSettings = ValidationSettings()
    downloads: DownloadSettings = DownloadSettings()
    sessions: SessionSettings = SessionSettings()
    answers: AnalyticsSettings = AnalyticsSettings()
    ingest: IngestSettings = IngestSettings()
    rpc: RpcSettings = RpcSettings()
    registry: RegistrySettings = RegistrySettings()
    artifacts: ArtifactsSettings = ArtifactsSettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    graphql: GraphqlSettings = GraphqlSettings()
    media_links: MediaLinkSettings = MediaLinkSettings()


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    sources: Mapping[str, Source]  # by dotted name; what is not in it is a default


def load(environment: Mapping[str, str] | None = None) -> Loaded:
    """Read, check and compose. From then on the redactor knows the secrets."""
    environment = os.environ if environment is None else environment
    fields = dict(setting_fields())
    outside = from_environment(environment, fields)
    path, inside = _file(environment, outside, fields)
    given = {**inside.given, **outside.given}
    values = {name: _value(one, fields[name]) for name, one in given.items()}
    problems = [*inside.problems, *outside.problems, *_exposed(path, inside, fields)]
    try:
        settings = Settings.model_validate({"data": default_data_folder(environment)} | _nested(values))
    except ValidationError as error:
        raise _refused([*problems, *_invalid(error, given, fields)]) from None  # the cause repeats the values
    if problems:
        raise _refused(problems)
    redact.register(*(str(values[name]) for name in values if is_secret(fields[name])))
    return Loaded(settings, {name: one.source for name, one in given.items()})


def setting_fields() -> Iterator[tuple[str, FieldInfo]]:
    """Every setting by its dotted name, in the order of declaration."""
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from ((f"{name}.{key}", inner) for key, inner in field.annotation.model_fields.items())
        else:
            yield name, field


def is_secret(field: FieldInfo) -> bool:
    return SecretStr in (field.annotation, *get_args(field.annotation))


def _file(environment: Mapping[str, str], outside: Found, names: Iterable[str]) -> tuple[Path, Found]:
    """The file that was named, which must exist, or the one in the data folder, which need not."""
    if named := environment.get(FILE_VARIABLE):
        path = _absolute(Path(named))
        return path, from_file(path, names)
    data = outside.given.get("data")
    path = _absolute(Path(data.value) if data else default_data_folder(environment)) / FILE_NAME
    found = from_file(path, names, optional=True)
    if "data" in found.given:
        problem = f"data ({found.given['data'].source}): a file inside the data folder cannot set the data folder"
        return path, Found(found.given, (*found.problems, problem))
    return path, found


def _value(given: Given, field: FieldInfo) -> Any:
    """A list in the environment is written with commas."""
    if given.source.origin is Origin.ENVIRONMENT and get_origin(field.annotation) is tuple:
        return [part.strip() for part in given.value.split(",")]
    return given.value


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        (document.setdefault(section, {}) if section else document)[key] = value
    return document


def _invalid(error: ValidationError, given: Mapping[str, Given], fields: Mapping[str, FieldInfo]) -> list[str]:
    problems: list[str] = []
    for detail in error.errors(include_url=False):
        name = ".".join(str(part) for part in detail["loc"][:2])
        source = f" ({given[name].source})" if name in given else ""
        text = detail["msg"].removeprefix("Value error, ")
        if name in fields and is_secret(fields[name]):
            text = "not a valid value"  # a message may repeat what it complains about
        problems.append(f"{name}{source}: {text}")
    return problems


def _exposed(path: Path, inside: Found, fields: Mapping[str, FieldInfo]) -> list[str]:
    secrets = [name for name in inside.given if is_secret(fields[name])]
    if not secrets or not path.stat().st_mode & OPEN_TO_ALL:
        return []
    source = inside.given[secrets[0]].source
    return [f"{', '.join(secrets)} ({source}): this file is readable by other users; run chmod 600 on it"]


def _refused(problems: list[str]) -> Misconfigured:
    count = "a setting is" if len(problems) == 1 else f"{len(problems)} settings are"
    hint = "Correct them where they were set; docs/reference/settings.md lists every setting."
    return Misconfigured(f"{count} invalid", why="\n".join(problems), hint=hint)


# Settings as people see them: every one with its value, where that comes from and what it means.
#
# Invariant: of a secret it says only whether it is set.

Shown = str | int | float | bool | list[str] | None


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    variable: str
    value: Shown
    source: Source
    description: str

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "variable": self.variable,
            "value": self.value,
            "source": {"origin": self.source.origin, "place": self.source.place},
            "description": self.description,
        }

    @property
    def is_set(self) -> bool:
        return self.value not in (None, "", [])

    @property
    def text(self) -> str:
        if not self.is_set:
            return "not set"
        if isinstance(self.value, list):
            return ",".join(self.value)
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def explain(loaded: Loaded) -> list[Entry]:
    return [
        Entry(
            name=name,
            variable=variable(name),
            value=_visible(_setting_value(loaded.settings, name)),
            source=loaded.sources.get(name, Source()),
            description=" ".join((field.description or "").split()),
        )
        for name, field in setting_fields()
    ]


def _setting_value(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _visible(value: Any) -> Shown:
    match value:
        case SecretStr():
            return MASK if value.get_secret_value() else None
        case timedelta():
            return format_duration(value)
        case ByteSize():
            return value.human_readable(separator=" ")
        case bool() | int() | float() | None:
            return value
        case tuple():
            return [redact(str(one)) for one in cast("tuple[Any, ...]", value)]
        case _:
            return redact(str(value))
