"""The code of the how-to pages: each block is a script that runs here and prints what it says."""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from clients.dev_server import DevServer
from clients.programs import EXAMPLES, command_for, need_module, need_node_package, run

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
ANSWER = "17 × 4 = 68."
WORKER = r"answered by (Garage|Cellar) Qwen"
CALLS = r'get_weather\(\{"city": ?"Paris"\}\)\nget_weather\(\{"city": ?"Oslo"\}\)\n'
WEATHER = r".*\b18\b.*-4\b.*"
RECIPE = r".+ \((easy|hard)\)\n(- \d+ g .+\n)*"
REFUSED = r"change temperature: .*Expected a value <= 2, but got 2\.5 instead\..*\n"
LISTED = r"(.+/.+\n)+"

PRINTED = {
    "python/first_chat.py": rf"{LISTED}{re.escape(ANSWER)}\n{WORKER} for \d+\.\d+ kudos\n",
    "python/stream.py": rf"\(The user writes: .+\)\n{re.escape(ANSWER)}\n{WORKER}\n\d+ tokens\n",
    "python/tools.py": rf"{CALLS}{WEATHER}\n",
    "python/parse.py": RECIPE,
    "python/image.py": r".*12 × 8 pixels, mostly blue\.\n",
    "python/options.py": rf"koboldcpp/Qwen3-8B says: {re.escape(ANSWER)}\n",
    "python/errors.py": rf"{REFUSED}503 no_eligible_worker: .*not served by any worker.*\n",
    "python/langchain_chat.py": rf"{re.escape(ANSWER)}\n",
    "python/pydantic_ai_agent.py": rf"{WEATHER}\n",
    "node/first_chat.mjs": rf"{LISTED}{re.escape(ANSWER)}\n{WORKER} for \d+\.\d+ kudos\n",
    "node/stream.mjs": rf"\(The user writes: .+\)\n{re.escape(ANSWER)}\n{WORKER}\n\d+ tokens\n",
    "node/run_tools.mjs": rf"{CALLS}{WEATHER}\n",
    "node/parse.mjs": RECIPE,
    "node/options.mjs": rf"koboldcpp/Qwen3-8B says: {re.escape(ANSWER)}\n",
    "node/errors.mjs": rf"{REFUSED}no_eligible_worker: .*not served by any worker.*\n",
    "node/ai_sdk.mjs": rf"{CALLS}{WEATHER}\n",
    "node/langchain_chat.mjs": rf"{re.escape(ANSWER)}\n",
}
"""What each script prints, as far as it is the same in every run."""

PACKAGES = {
    "python/langchain_chat.py": "langchain_openai",
    "python/pydantic_ai_agent.py": "pydantic_ai",
    "node/ai_sdk.mjs": "ai",
    "node/langchain_chat.mjs": "@langchain/openai",
}
"""What a script needs besides the openai package."""


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


@pytest.fixture(scope="module")
def runs(
    dev: DevServer, threads: ThreadPoolExecutor, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Future[str]]:
    """All scripts' runs, a few at a time: most of one is waiting for the other side."""
    picture = tmp_path_factory.mktemp("pictures") / "blue.png"
    Image.new("RGB", (12, 8), (40, 80, 220)).save(picture)
    arguments = {"python/image.py": [str(picture)]}

    def start(name: str) -> str:
        need_packages(name)
        return run([*command_for(EXAMPLES / name), *arguments.get(name, [])], dev)

    return {name: threads.submit(start, name) for name in PRINTED}


def need_packages(name: str) -> None:
    """Asks for what a script imports."""
    package = PACKAGES.get(name, "openai")
    if name.startswith("python/"):
        need_module(package)
    else:
        need_node_package(package)


@pytest.mark.parametrize("name", PRINTED)
def test_script_prints_what_it_says(runs: dict[str, Future[str]], name: str) -> None:
    """Run as a reader would run it, with the front's address in the environment."""
    printed = runs[name].result()
    assert re.fullmatch(PRINTED[name], printed), printed


@pytest.mark.parametrize(
    "page, language, folder",
    [("use-from-python.md", "python", "python"), ("use-from-node.md", "js", "node")],
)
def test_page_shows_the_scripts(page: str, language: str, folder: str) -> None:
    """Each block is a script's text to the letter, and each script is shown once."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    shown = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    scripts = [EXAMPLES / name for name in PRINTED if name.startswith(f"{folder}/")]
    assert {path.name for path in scripts} == {path.name for path in (EXAMPLES / folder).iterdir()}
    assert shown == [path.read_text(encoding="utf-8") for path in scripts]
