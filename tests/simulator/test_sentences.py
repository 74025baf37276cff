"""The table of the contract's sentences names tests that there are."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TABLE = (TESTS / "simulator" / "sentences.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+)::(\w+)`", TABLE)))


def test_every_sentence_names_a_test() -> None:
    rows = [line for line in TABLE.splitlines() if line.startswith("| ") and "---" not in line]
    for row in rows:
        assert row == "| sentence | tests |" or "::test_" in row


@pytest.mark.parametrize("module,test", NAMED)
def test_the_test_is_there(module: str, test: str) -> None:
    places = [TESTS / f"{module}.py", TESTS / "simulator" / f"{module}.py"]
    (path,) = [place for place in places if place.exists()]
    source = path.read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {test}\(", source, re.MULTILINE)
