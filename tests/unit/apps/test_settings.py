from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from touchline.apps.redaction import redact
from touchline.apps.settings import Entry, Loaded, Origin, Source, explain, load, setting_fields, variable
from touchline.kernel import Misconfigured

SECRET_URL = "postgresql://touchline_app:correct-horse@db/touchline"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(data: Path) -> dict[str, str]:
    return {"TOUCHLINE_DATA": str(data), "PATH": "/usr/bin"}


def write(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "touchline.toml"
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


def refusal(environment: dict[str, str]) -> list[str]:
    """The problems that loading lists."""
    with pytest.raises(Misconfigured) as raised:
        load(environment)
    return raised.value.why.splitlines()


def entry(loaded: Loaded, name: str) -> Entry:
    return next(one for one in explain(loaded) if one.name == name)


class TestPrecedence:
    def test_a_default_holds_when_nothing_is_given(self, environment: dict[str, str]) -> None:
        loaded = load(environment)
        assert loaded.settings.postgres.acquire_timeout == timedelta(seconds=10)
        assert entry(loaded, "postgres.acquire_timeout").source == Source()

    def test_the_file_wins_over_the_default(self, environment: dict[str, str], data: Path) -> None:
        path = write(data, '[postgres]\nacquire_timeout = "3s"')
        loaded = load(environment)
        assert loaded.settings.postgres.acquire_timeout == timedelta(seconds=3)
        assert entry(loaded, "postgres.acquire_timeout").source == Source(Origin.FILE, str(path))

    def test_the_environment_wins_over_the_file(self, environment: dict[str, str], data: Path) -> None:
        write(data, '[postgres]\nacquire_timeout = "3s"\npool_size = 3')
        loaded = load({**environment, "TOUCHLINE_POSTGRES_ACQUIRE_TIMEOUT": "4s"})
        assert loaded.settings.postgres.acquire_timeout == timedelta(seconds=4)
        assert loaded.settings.postgres.pool_size == 3
        source = entry(loaded, "postgres.acquire_timeout").source
        assert str(source) == "environment TOUCHLINE_POSTGRES_ACQUIRE_TIMEOUT"

    def test_an_empty_variable_is_not_set(self, environment: dict[str, str], data: Path) -> None:
        write(data, "[postgres]\npool_size = 3")
        assert load({**environment, "TOUCHLINE_POSTGRES_POOL_SIZE": ""}).settings.postgres.pool_size == 3


def test_a_list_is_written_with_commas_in_the_environment(environment: dict[str, str]) -> None:
    loaded = load({**environment, "TOUCHLINE_OBJECTS_BROWSER_ORIGINS": "https://a.example, https://b.example"})
    assert loaded.settings.objects.browser_origins == ("https://a.example", "https://b.example")


class TestFile:
    def test_a_named_file_is_read_and_may_say_where_the_data_is(self, tmp_path: Path) -> None:
        path = write(tmp_path, 'data = "/srv/touchline"')
        assert load({"TOUCHLINE_CONFIG": str(path)}).settings.data == Path("/srv/touchline")

    def test_a_named_file_must_exist(self, tmp_path: Path) -> None:
        with pytest.raises(Misconfigured, match="No such file"):
            load({"TOUCHLINE_CONFIG": str(tmp_path / "none.toml")})

    def test_a_file_that_is_there_must_be_readable(self, environment: dict[str, str], data: Path) -> None:
        (data / "touchline.toml").mkdir()
        with pytest.raises(Misconfigured, match="cannot read"):
            load(environment)

    def test_a_file_in_the_data_folder_cannot_move_it(self, environment: dict[str, str], data: Path) -> None:
        write(data, 'data = "/elsewhere"')
        assert "cannot set the data folder" in refusal(environment)[0]

    def test_a_file_that_is_not_toml_is_refused_with_the_place(self, environment: dict[str, str], data: Path) -> None:
        write(data, "[postgres\n")
        with pytest.raises(Misconfigured, match="line 1"):
            load(environment)

    @pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o640, False), (0o644, True), (0o602, True)])
    def test_secrets_in_a_file_open_to_all_are_refused(
        self, environment: dict[str, str], data: Path, mode: int, refused: bool
    ) -> None:
        write(data, f'[postgres]\nurl = "{SECRET_URL}"', mode)
        if refused:
            assert "chmod 600" in refusal(environment)[0]
        else:
            assert load(environment).settings.postgres.url.get_secret_value() == SECRET_URL

    def test_a_file_without_secrets_may_be_open(self, environment: dict[str, str], data: Path) -> None:
        write(data, "[postgres]\npool_size = 3", 0o644)
        assert load(environment).settings.postgres.pool_size == 3


class TestProblems:
    @pytest.mark.parametrize(
        ("key", "nearest"),
        [
            ("TOUCHLINE_POSTGRES_POOLSIZE", "TOUCHLINE_POSTGRES_POOL_SIZE"),
            ("TOUCHLINE_POSTGRESS_URL", "TOUCHLINE_POSTGRES_URL"),
        ],
    )
    def test_an_unknown_variable_is_refused(self, environment: dict[str, str], key: str, nearest: str) -> None:
        assert refusal({**environment, key: "8"}) == [
            f"{key} (environment): there is no such setting; did you mean {nearest}?"
        ]

    @pytest.mark.parametrize(
        ("text", "name", "nearest"),
        [
            ("[postgres]\npool_sise = 8", "postgres.pool_sise", "postgres.pool_size"),
            ("[postgre]\npool_size = 8\nurl = 3", "postgre", "postgres"),
            ("date = 3", "date", "data"),
        ],
    )
    def test_an_unknown_key_is_refused(
        self, environment: dict[str, str], data: Path, text: str, name: str, nearest: str
    ) -> None:
        path = write(data, text)
        assert refusal(environment) == [f"{name} (file {path}): there is no such setting; did you mean {nearest}?"]

    def test_a_section_must_be_a_table(self, environment: dict[str, str], data: Path) -> None:
        write(data, "postgres = 5")
        assert refusal(environment)[0].startswith("postgres (file ")

    def test_what_is_near_nothing_gets_no_advice(self, environment: dict[str, str]) -> None:
        assert refusal({**environment, "TOUCHLINE_XYZZY": "1"}) == [
            "TOUCHLINE_XYZZY (environment): there is no such setting"
        ]

    def test_all_problems_come_at_once(self, environment: dict[str, str], data: Path) -> None:
        write(data, f'[postgres]\nurl = "{SECRET_URL}"\nprot = 1\npool_size = "many"', 0o644)
        problems = refusal({**environment, "TOUCHLINE_POSTGRES_ACQUIRE_TIMEOUT": "soon", "TOUCHLINE_LOK_LEVEL": "info"})
        expected = ["postgres.prot", "TOUCHLINE_LOK_LEVEL", "chmod 600", "postgres.pool_size", "soon"]
        assert len(problems) == len(expected)
        for part, problem in zip(expected, problems, strict=True):
            assert part in problem

    def test_a_bad_value_is_refused_with_its_source(self, environment: dict[str, str]) -> None:
        [problem] = refusal({**environment, "TOUCHLINE_POSTGRES_POOL_SIZE": "many"})
        assert problem.startswith("postgres.pool_size (environment TOUCHLINE_POSTGRES_POOL_SIZE): ")

    def test_a_bad_secret_is_not_repeated(self, environment: dict[str, str], data: Path) -> None:
        write(data, "[postgres]\nurl = 123456789")
        with pytest.raises(Misconfigured) as raised:
            load(environment)
        assert "123456789" not in str(raised.value)
        assert raised.value.__cause__ is None

    def test_variables_that_are_no_settings_are_left_alone(self, environment: dict[str, str]) -> None:
        assert load({**environment, "TOUCHLINE_DEBUG": "1", "TOUCHLINE_CHAOS_SEED": "7", "TOUCH": "1"})


class TestDataFolder:
    def test_a_relative_folder_becomes_absolute(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.chdir(tmp_path)
        assert load({"TOUCHLINE_DATA": "here"}).settings.data == tmp_path / "here"

    @pytest.mark.parametrize(
        ("uid", "environment", "folder"),
        [
            (0, {"XDG_DATA_HOME": "/xdg"}, "/var/lib/touchline"),
            (1000, {"XDG_DATA_HOME": "/xdg"}, "/xdg/touchline"),
            (1000, {}, "/home/somebody/.local/share/touchline"),
        ],
    )
    def test_the_default_depends_on_who_runs_it(
        self, monkeypatch: pytest.MonkeyPatch, uid: int, environment: dict[str, str], folder: str
    ) -> None:
        monkeypatch.setattr("os.geteuid", lambda: uid)
        monkeypatch.setenv("HOME", "/home/somebody")
        assert load(environment).settings.data == Path(folder)


class TestExplanation:
    def test_secrets_stay_hidden(self, environment: dict[str, str]) -> None:
        loaded = load({**environment, "TOUCHLINE_POSTGRES_URL": SECRET_URL})
        assert entry(loaded, "postgres.url").text == "********"
        assert entry(loaded, "postgres.owner_url").text == "not set"
        assert "correct-horse" not in repr(loaded) + str([one.document() for one in explain(loaded)])

    def test_the_redactor_knows_the_secrets_that_were_loaded(self, environment: dict[str, str]) -> None:
        load({**environment, "TOUCHLINE_OBJECTS_SECRET_KEY": "battery-staple"})
        assert "battery-staple" not in redact("signed with battery-staple")

    def test_every_setting_is_there_and_described(self, environment: dict[str, str]) -> None:
        entries = explain(load(environment))
        assert [one.name for one in entries] == [name for name, _ in setting_fields()]
        assert [one.name for one in entries if not one.description] == []

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("postgres.statement_timeout", "30s"),
            ("objects.single_put_limit", "5.0 GiB"),
            ("objects.browser_origins", "*"),
            ("objects.url", "not set"),
        ],
    )
    def test_values_are_shown_as_people_write_them(self, environment: dict[str, str], name: str, text: str) -> None:
        assert entry(load(environment), name).text == text


def names() -> Iterator[str]:
    return (name for name, _ in setting_fields())


def test_no_two_settings_share_a_variable() -> None:
    variables = [variable(name) for name in names()]
    assert len(variables) == len(set(variables))
