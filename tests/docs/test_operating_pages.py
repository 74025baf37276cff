"""The front's pages: their commands and programs run, their files are taken, their claims exist."""

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from clients.dev_server import DevServer, running
from clients.programs import command_for, need_module, need_node_package, program
from docs.pages import ROOT, blocks, files, write_files
from docs.sessions import Command, sessions
from horde_adapters.configuration import gather
from horde_simulator.document import parse_scenario

DOCS = ROOT / "docs"
TUTORIAL = "docs/tutorial/first-chat.md"
CLIENTS = "docs/how-to/use-stock-clients.md"
PRINTING = [
    "docs/how-to/run-a-front.md",
    "docs/how-to/run-behind-nginx.md",
    "docs/how-to/watch-a-front.md",
]


@pytest.fixture(scope="module")
def dev() -> Iterator[DevServer]:
    with running() as server:
        yield server


def here(dev: DevServer) -> dict[str, str]:
    """What the pages write, and what it is on this machine."""
    return {
        ".venv/bin/": f"{Path(sys.executable).parent}/",
        "http://127.0.0.1:8000": dev.front.removesuffix("/v1"),
    }


def check(command: Command, folder: Path, dev: DevServer) -> None:
    """Runs a command; it has to print what the page says."""
    if command.text.startswith("nginx"):
        program("nginx", "nginx-light")
    output = command.run(folder, here(dev))
    assert command.is_printed_by(output), f"{command.text}\nprinted\n{output}"


def test_the_tutorial(dev: DevServer, tmp_path: Path) -> None:
    """From the second terminal on; installing and starting are the packages' and the fixture's."""
    write_files(TUTORIAL, tmp_path)
    weather = tmp_path / "weather.py"
    weather.write_text(
        weather.read_text().replace("http://127.0.0.1:8000/v1", dev.front), encoding="utf-8"
    )
    commands = sessions(TUTORIAL)
    assert len(commands) == 4
    for command in commands:
        check(command, tmp_path, dev)


def test_the_tutorial_starts_what_the_fixture_starts() -> None:
    (server,) = sessions(TUTORIAL, "server")
    assert server.text.endswith("horde-front dev")
    assert server.printed == (
        "ready front=http://127.0.0.1:8000/v1 horde=http://127.0.0.1:8001/api/v2"
    )


@pytest.mark.parametrize("page", PRINTING)
def test_commands_print_what_the_page_says(page: str, dev: DevServer) -> None:
    """From the repository's folder, with the environment's own programs."""
    httpx.post(
        f"{dev.front}/chat/completions",
        json={
            "model": "koboldcpp/Llama-3.2-3B-Instruct",
            "messages": [{"role": "user", "content": "Hi"}],
        },
        timeout=60,
    ).raise_for_status()
    commands = sessions(page)
    assert commands
    for command in commands:
        check(command, ROOT, dev)


@pytest.mark.parametrize("page", [TUTORIAL, *PRINTING, "docs/explanation/dependencies.md"])
def test_commands_that_install_name_files_that_exist(page: str) -> None:
    """Docker, systemd and a cluster aren't here; what is handed to them is (tests/deployment)."""
    for title in ("install", "image", "cluster"):
        for command in sessions(page, title):
            for path in re.findall(r"\bdeploy/[\w./@-]+", command.text):
                assert (ROOT / path).exists(), path


PAGES_WITH_SETTINGS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((DOCS / "how-to").glob("*.md"))
    if 'title="front.toml"' in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", PAGES_WITH_SETTINGS)
def test_settings_on_the_pages_are_settings(page: str, tmp_path: Path) -> None:
    assert len(PAGES_WITH_SETTINGS) == 4
    path = tmp_path / "front.toml"
    path.write_text(files(page)["front.toml"], encoding="utf-8")
    configuration = gather({"config": str(path)}, {})
    assert [origin for origin in configuration.origins.values() if origin != "default"]


def test_the_service_account_page() -> None:
    """Its variable is a setting, and its scenario knows the same authorization."""
    page = files("docs/how-to/run-on-a-service-account.md")
    name, _, value = page["/etc/horde-front/secrets"].strip().partition("=")
    configuration = gather({}, {name: value})
    scenario = parse_scenario(page["service.toml"], source="service.toml")
    assert configuration.deployment.settings.service_authorization == value
    assert scenario.service_authorization == value


# Stock clients ------------------------------------------------------------------------------------


def card(dev: DevServer) -> dict[str, Any]:
    """What the front says of the model that the pages use."""
    found: dict[str, Any] = httpx.get(f"{dev.front}/models/koboldcpp/Qwen3-8B").json()
    return found


def test_clients_limits_are_the_cards(dev: DevServer) -> None:
    """The figures that opencode, Continue and Cline are told."""
    yaml: Any = pytest.importorskip("yaml", reason="the group dev isn't installed")
    page = files(CLIENTS)
    known = card(dev)
    context, output = known["context_length"], known["top_provider"]["max_completion_tokens"]
    opencode = json.loads(page["opencode.json"])["provider"]["horde"]
    (model,) = opencode["models"].values()
    assert model["limit"] == {"context": context, "output": output}
    assert list(opencode["models"]) == [known["id"]]
    (entry,) = yaml.safe_load(page["config.yaml"])["models"]
    assert entry["model"] == known["id"]
    assert entry["defaultCompletionOptions"] == {"contextLength": context, "maxTokens": output}
    (endpoint,) = yaml.safe_load(page["librechat.yaml"])["endpoints"]["custom"]
    assert endpoint["models"]["default"] == [known["id"]]
    assert f"({output} for this model)" in (ROOT / CLIENTS).read_text(encoding="utf-8")
    for base in (opencode["options"]["baseURL"], entry["apiBase"], endpoint["baseURL"]):
        assert base == "https://oai.aihorde.net/v1"


def test_what_the_page_says_is_refused_is_refused(dev: DevServer) -> None:
    """SillyTavern's two options, and the length that opencode and Cline ask for."""
    for keys, param in (
        ({"logprobs": True}, "logprobs"),
        ({"logit_bias": {"1": 1}}, "logit_bias"),
        ({"max_tokens": 32000}, "max_tokens"),
    ):
        body = {"model": card(dev)["id"], "messages": [{"role": "user", "content": "Hi"}], **keys}
        answer = httpx.post(f"{dev.front}/chat/completions", json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


@pytest.mark.parametrize("name", ["langchain_chat.py", "ai-sdk.mjs"])
def test_clients_programs_run(name: str, dev: DevServer, tmp_path: Path) -> None:
    """To the letter, but for the front's address."""
    if name.endswith(".py"):
        need_module("langchain_openai")
    else:
        need_node_package("ai")
        need_node_package("@ai-sdk/openai-compatible")
        (tmp_path / "node_modules").symlink_to(ROOT / "tests" / "clients" / "node_modules")
    script = tmp_path / name
    text = files(CLIENTS)[name].replace("http://127.0.0.1:8000/v1", dev.front)
    script.write_text(text, encoding="utf-8")
    done = subprocess.run(
        command_for(script), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "17 × 4 = 68."


# Reference and explanation ------------------------------------------------------------------------


def shape(document: Any) -> Any:
    """The keys of a document, and of what is in it."""
    if isinstance(document, dict):
        return {name: shape(value) for name, value in document.items()}
    if isinstance(document, list):
        return [shape(document[0])] if document and isinstance(document[0], dict) else []
    return None


def shown(page: str, title: str) -> Any:
    """A page's JSON block."""
    return json.loads(files(page)[title])


def test_the_reply_on_the_page_has_a_replys_keys(dev: DevServer) -> None:
    body = {"model": card(dev)["id"], "messages": [{"role": "user", "content": "Hi"}]}
    reply = httpx.post(f"{dev.front}/chat/completions", json=body, timeout=60).json()
    assert shape(shown("docs/reference/replies.md", "reply")) == shape(reply)


def test_the_card_on_the_page_has_a_cards_keys(dev: DevServer) -> None:
    assert shape(shown("docs/reference/models.md", "card")) == shape(card(dev))


def test_the_log_line_on_the_page_is_a_lines() -> None:
    """Every field is one that the front writes."""
    from horde_adapters.phases import Phase

    line = shown("docs/how-to/watch-a-front.md", "a line")
    known = {"time", "level", "event", "id", "route", "code", "stream", "first_byte", "worker"}
    known |= {"model", "kudos", "total", "status"} | {phase.value for phase in Phase}
    assert set(line) <= known


def test_the_trace_is_what_happens() -> None:
    """If not: python docs/make_life_of_a_request.py."""
    made = runpy.run_path(str(DOCS / "make_life_of_a_request.py"))["page"]()
    assert (DOCS / "explanation" / "life-of-a-request.md").read_text(encoding="utf-8") == made


def test_each_claim_on_security_has_tests_that_exist() -> None:
    """By file and name, and no row is without one."""
    page = (DOCS / "explanation" / "security.md").read_text(encoding="utf-8")
    rows = [
        line
        for line in page.partition("| claim | tests |")[2].splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    assert len(rows) >= 19
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row)
        assert named, row
        for path, name in named:
            text = (ROOT / path).read_text(encoding="utf-8")
            assert re.search(
                rf"^(async )?def {name}\(" if name else "def test_", text, re.MULTILINE
            )


def test_dependencies_are_explained_with_their_ranges() -> None:
    """Each of pyproject.toml's, as it stands there."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (DOCS / "explanation" / "dependencies.md").read_text(encoding="utf-8")
    for entry in project["dependencies"]:
        name, ranges = re.fullmatch(r"([\w-]+)(?:\[\w+\])?(.*)", entry).groups()  # type: ignore[union-attr]
        assert f"| {name} | `{ranges}` |" in page, entry


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Every page in the navigation, every link and anchor there."""
    need_module("material")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "settings" / "index.html").exists()


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    """A block in another language would be a snippet that nothing runs."""
    kinds = {
        ("console", None),
        *(("console", title) for title in ("install", "server", "image", "cluster")),
        *(("console", title) for title in ("lock", "soak")),
        ("http", None),
        ("mermaid", None),
    }
    pages = [
        *(TUTORIAL, CLIENTS, *PRINTING, *PAGES_WITH_SETTINGS),
        *("docs/reference/replies.md", "docs/reference/models.md"),
        *(f"docs/explanation/{path.name}" for path in (DOCS / "explanation").glob("*.md")),
    ]
    checked = {
        *("weather.py", "front.toml", "service.toml", "/etc/horde-front/secrets", "a line"),
        *("opencode.json", "config.yaml", "librechat.yaml", "open-webui.env", "reply", "card"),
        *("langchain_chat.py", "ai-sdk.mjs"),
    }
    for page in pages:
        for block in blocks(page):
            assert (block.language, block.title) in kinds or block.title in checked, (page, block)
