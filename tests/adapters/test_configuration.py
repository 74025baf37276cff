"""Settings: every one from a flag, the environment or a file, in that order; wrong ones refused."""

import tomllib
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import attrs
import pytest

from adapters.process import run
from horde_adapters.configuration import WrongSetting, gather
from horde_adapters.settings import Deployment, Limits, Settings
from horde_adapters.settings_table import SETTINGS
from horde_core.pacing import Pace
from horde_core.timing import Timing

SECRET = "Basic c2VjcmV0"


def leaves(kind: type, prefix: str = "") -> list[str]:
    """Every value that a deployment holds, by its path."""
    found: list[str] = []
    for field in attrs.fields(kind):
        inner = {"settings": Settings, "limits": Limits, "timing": Timing, "pace": Pace}.get(
            field.name
        )
        path = prefix + field.name
        found += [path] if inner is None else leaves(inner, f"{path}.")
    return found


def test_every_value_of_a_deployment_is_a_setting_once() -> None:
    """But those that follow from others: from `metrics`, and from `body_cap`."""
    targets = sorted(setting.target for setting in SETTINGS.values())
    assert targets == sorted(
        set(leaves(Deployment)) - {"settings.serve_metrics", "limits.largest_invited"}
    )


def test_defaults_are_what_their_own_kinds_allow() -> None:
    """A page of the defaults, given back as a file, is the same deployment."""
    configuration = gather({}, {})
    assert configuration.deployment == Deployment()
    document = tomllib.loads(configuration.page())
    assert document.keys() == SETTINGS.keys()
    for name, value in document.items():
        assert SETTINGS[name].kind.check(value) == configuration.values[name]


def test_a_flag_beats_the_environment_beats_a_file(tmp_path: Path) -> None:
    file = tmp_path / "front.toml"
    file.write_text("port = 1\ngrace = 1\npool_age = 2\n")
    variables = {
        "HORDE_FRONT_PORT": "2",
        "HORDE_FRONT_GRACE": "2",
        "HORDE_FRONT_CONFIG": str(file),
        "PATH": "/bin",
    }
    found = gather({"port": "3"}, variables)
    assert (found.deployment.port, found.deployment.settings.grace) == (3, 2.0)
    assert found.deployment.settings.pool_age == 2.0
    assert [found.origins[name] for name in ("port", "grace", "pool_age", "host")] == [
        "flag --port",
        "environment HORDE_FRONT_GRACE",
        f"file {file}",
        "default",
    ]


def test_a_file_named_by_flag_takes_the_place_of_the_environments(tmp_path: Path) -> None:
    for name, port in (("a", 1), ("b", 2)):
        (tmp_path / name).write_text(f"port = {port}\n")
    variables = {"HORDE_FRONT_CONFIG": str(tmp_path / "a")}
    assert gather({"config": str(tmp_path / "b")}, variables).deployment.port == 2


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("host", "::", "::"),
        ("port", "0", 0),
        ("playground", "true", True),
        ("playground", "False", False),
        ("horde", "http://horde:8001/api/v2", "http://horde:8001/api/v2"),
        ("trusted_proxies", "10.0.0.0/8, ::1", (ip_network("10.0.0.0/8"), ip_network("::1/128"))),
        ("trusted_proxies", "", ()),
        ("drop_parameters", "top_k, min_p", ("top_k", "min_p")),
        ("stream_budget", "1200", 1200.0),
        ("keepalive_style", "chunk", "chunk"),
        ("service_authorization", SECRET, SECRET),
        ("metrics", "[::1]:9090", "[::1]:9090"),
        ("metrics", "off", "off"),
        ("log_format", "json", "json"),
    ],
)
def test_text_becomes_a_value(name: str, text: str, value: object) -> None:
    found = gather({}, {f"HORDE_FRONT_{name.upper()}": text})
    assert found.values[name] == value


WRONG: list[tuple[str, str]] = [
    ("host", "a b"),
    ("port", "65536"),
    ("port", "-1"),
    ("port", "80.5"),
    ("port", "tcp://10.0.0.1:80"),  # what Kubernetes sets for a service called horde-front
    ("playground", "yes"),
    ("horde", "aihorde.net"),
    ("horde", "https://me:secret@aihorde.net"),  # shown by --print-config, and not sent
    ("horde", "https://aihorde.net/?x=1"),
    ("horde", "https://aihorde.net/#x"),
    ("trusted_proxies", "10.0.0.1/8"),
    ("trusted_proxies", "everyone"),
    ("drop_parameters", "messages"),
    ("drop_parameters", "a b"),
    ("stream_budget", "nan"),
    ("stream_budget", "inf"),
    ("stream_budget", "9"),
    ("cancel_tries", "0"),
    ("keepalive_style", "Comment"),
    ("service_authorization", "two\nlines"),
    ("service_authorization", "ümlaut"),
    ("metrics", "9090"),
    ("metrics", "nowhere:"),
    ("address_header", "x-real-ip"),
    ("log_level", "debug"),
]


@pytest.mark.parametrize("name, text", WRONG)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, text: str) -> None:
    """Name, value, where it was said, what is allowed; a secret's value stays hidden."""
    setting = SETTINGS[name]
    with pytest.raises(WrongSetting) as caught:
        gather({}, {setting.variable: text})
    shown = "(hidden)" if name == "service_authorization" else repr(text)
    allowed = setting.kind.allowed
    origin = f"environment HORDE_FRONT_{name.upper()}"
    assert str(caught.value) == f"{name} is {shown} ({origin}): must be {allowed}"


@pytest.mark.parametrize(
    "document",
    [
        'port = "8000"',
        "port = 80.0",
        "port = true",
        "playground = 1",
        'stream_budget = "600"',
        "stream_budget = true",
        "host = 1",
        'trusted_proxies = "10.0.0.0/8"',
        "trusted_proxies = [10]",
        'drop_parameters = ["messages"]',
        "horde = 1",
        "keepalive_style = 1",
    ],
)
def test_a_file_is_typed(document: str, tmp_path: Path) -> None:
    """A number in quotes is no number."""
    file = tmp_path / "front.toml"
    file.write_text(document)
    name = document.partition(" ")[0]
    with pytest.raises(WrongSetting, match=rf"^{name} is .* \(file .*\): must be "):
        gather({"config": str(file)}, {})


@pytest.mark.parametrize(
    "flags, variables, said",
    [
        (
            {},
            {"HORDE_FRONT_PROT": "1"},
            "HORDE_FRONT_PROT is no setting: did you mean HORDE_FRONT_PORT?",
        ),
        ({}, {"HORDE_FRONT_port": "1"}, "HORDE_FRONT_port is no setting"),
        ({}, {"HORDE_FRONT_SERVICE_HOST": "10.0.0.1"}, "HORDE_FRONT_SERVICE_HOST is no setting"),
        ({"config": "{tmp}/a"}, {}, "prot in file {tmp}/a is no setting: did you mean port?"),
        ({"config": "{tmp}/b"}, {}, "the settings file {tmp}/b is no TOML: "),
        ({"config": "{tmp}/c"}, {}, "can't read the settings file {tmp}/c: "),
        ({"config": "{tmp}/d"}, {}, "can't read the settings file {tmp}/d: "),
        (
            {"slow_pace": "30"},
            {},
            "fast_pace is 20: must be no less than slow_pace, which is 30",
        ),
        ({"ready_age": "5"}, {}, "ready_age is 5: must be no less than pool_age, which is 10"),
    ],
)
def test_what_else_stops_the_start(
    flags: dict[str, str], variables: dict[str, str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("prot = 1\n")
    (tmp_path / "b").write_text("port = \n")
    (tmp_path / "c").write_bytes(b"\xff")
    with pytest.raises(WrongSetting) as caught:
        gather({name: value.format(tmp=tmp_path) for name, value in flags.items()}, variables)
    assert said.format(tmp=tmp_path) in str(caught.value)


def test_the_prefix_alone_is_no_likeness() -> None:
    with pytest.raises(WrongSetting, match=r"HORDE_FRONT_BOGUS is no setting$"):
        gather({}, {"HORDE_FRONT_BOGUS": "1"})


def test_print_config_shows_values_and_origins_and_hides_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends at once, with TOML that can be given back."""
    file = tmp_path / "front.toml"
    file.write_text('horde = "http://127.0.0.1:9"\n')
    monkeypatch.setenv("HORDE_FRONT_SERVICE_AUTHORIZATION", SECRET)
    monkeypatch.setenv("HORDE_FRONT_TRUSTED_PROXIES", "127.0.0.1")
    arguments = ("serve", "--config", str(file), "--port", "0", "--playground")
    ended = run(*arguments, "--print-config")
    assert (ended.status, ended.err) == (0, "")
    for line in (
        "port = 0  # flag --port",
        "playground = true  # flag --playground",
        f'horde = "http://127.0.0.1:9"  # file {file}',
        'trusted_proxies = ["127.0.0.1/32"]  # environment HORDE_FRONT_TRUSTED_PROXIES',
        '# service_authorization = "(hidden)"  # environment HORDE_FRONT_SERVICE_AUTHORIZATION',
        "body_cap = 20971520  # default",
    ):
        assert line in ended.out.splitlines()
    assert SECRET not in ended.out
    (tmp_path / "again.toml").write_text(ended.out)
    document: dict[str, Any] = tomllib.loads(ended.out)
    assert document["port"] == 0
    assert gather({"config": str(tmp_path / "again.toml")}, {}).deployment.port == 0


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--port", "http"), "port is 'http' (flag --port): must be a whole number from 0 to"),
        (("--config", "/nowhere.toml"), "can't read the settings file /nowhere.toml"),
    ],
)
def test_the_command_ends_with_status_2(arguments: tuple[str, ...], said: str) -> None:
    """One line on stderr, nothing on stdout."""
    ended = run("serve", *arguments)
    assert (ended.status, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith(f"horde-front: {said}")


def test_help_names_every_setting_but_the_secret_ones() -> None:
    """A secret among a process's arguments would be seen by all of the machine."""
    ended = run("serve", "--help")
    assert ended.status == 0
    for name, setting in SETTINGS.items():
        assert (setting.flag in ended.out) is not setting.secret, name
